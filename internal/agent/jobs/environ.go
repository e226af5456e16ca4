package jobs

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// rankEnv makes the environment of a job's ranks on this node.
type rankEnv struct {
	j       *Job
	network network // that they are to use
}

// takeEnviron makes the environment that the launch message brings that of this
// node's ranks.
func (re *rankEnv) takeEnviron() {
	l := re.j.launch
	if l.EnvFrom != "" {
		env, note := l.EnvFrom.Of(l.Env, environ.Here{Environ: loginEnviron(os.Environ(), l.Env), IsDir: isDir, Usable: usable, Exists: exists})
		if note != "" {
			re.j.node.Note(1, "%s: HOME and what belongs to it are this host's (--env-from)", note)
		}
		l.Env = env
	}
	l.Env = slices.Concat(l.Env, l.EnvGiven)
}

// loginEnviron is what a login here has: the environment of this process, but for that of
// a manager which brought the launcher's. HOME tells them apart where it is the launcher's
// and nowhere here.
func loginEnviron(env, launcher []string) []string {
	if home, set := os.LookupEnv("HOME"); !set || isDir(home) || !slices.Contains(launcher, "HOME="+home) {
		return env
	}
	account, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{"HOME", "USER", "LOGNAME"}, name)
	})
	return append(env, "HOME="+account.HomeDir, "USER="+account.Username, "LOGNAME="+account.Username)
}

// dirOf is the working directory of an app here. With the node's environment ranks run
// where a login, or docker exec, does ("") if the launcher's directory is not here.
func (re *rankEnv) dirOf(app job.App) string {
	if re.j.launch.EnvFrom == environ.Node && !app.DirGiven && !isDir(app.Dir) {
		return ""
	}
	return app.Dir
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func usable(dir string) bool { return isDir(dir) && unix.MayWrite(dir) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

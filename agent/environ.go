package agent

import (
	"os"
	"slices"

	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/unix"
)

// takeEnviron makes the environment that the launch message brings that of this
// node's ranks.
func (a *Agent) takeEnviron() {
	l := a.launch
	if l.EnvFrom != "" {
		env, note := l.EnvFrom.Of(l.Env, environ.Here{Environ: os.Environ(), IsDir: isDir, Usable: usable, Exists: exists})
		if note != "" {
			a.note(1, "%s: HOME and what belongs to it are this host's (--env-from)", note)
		}
		l.Env = env
	}
	l.Env = slices.Concat(l.Env, l.EnvGiven)
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

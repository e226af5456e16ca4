package stage_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/stage"
)

// farHost is a host whose connection outlives the command and says nothing to it:
// the end of a pipe neither continues nor kills what runs there.
type farHost struct {
	*host
	shell []string // the account's login shell, and its /bin/sh
}

// apart runs its words as a child of its own.
const apart = `exec 3<&0; "$@" <&3 3<&- & exec 3<&-; wait`

func (f farHost) begin(ctx context.Context, argv []string) (bootstrap.Pipe, error) {
	all := append([]string{"env"}, f.env...)
	pipe, err := f.Piper.Start(ctx, here, append(append(all, "/bin/sh", "-c", apart, "far"), argv...))
	if err != nil {
		return nil, err
	}
	return farPipe{pipe, f}, nil
}

func (f farHost) Start(ctx context.Context, _ bootstrap.Host, argv []string) (bootstrap.Pipe, error) {
	if argv[0] == "/bin/sh" {
		argv = append(append([]string(nil), f.shell...), argv[1:]...)
	}
	return f.begin(ctx, argv)
}

// loginFarHost is one whose login shell interprets what it is to run.
type loginFarHost struct{ farHost }

func (l loginFarHost) StartLine(ctx context.Context, _ bootstrap.Host, line string) (bootstrap.Pipe, error) {
	return l.begin(ctx, append(append([]string(nil), l.shell...), "-c", line))
}

type farPipe struct {
	bootstrap.Pipe
	on farHost
}

func (p farPipe) Also(ctx context.Context, argv []string) error {
	line, err := bootstrap.CommandLine(argv)
	if err != nil {
		return err
	}
	words := append(append([]string(nil), p.on.shell...), "-c", line)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), p.on.env...)
	return cmd.Run()
}

// An agent that is stopped before it speaks is ended when it is given up, however
// it came to its host and whatever shell the host has: it would not see that
// nobody wants it any more.
func TestAStoppedAgentLeavesNothing(t *testing.T) {
	for _, shell := range []string{"/bin/sh", "dash", "bash", "busybox sh"} {
		t.Run(shell, func(t *testing.T) {
			words := strings.Fields(shell)
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skipf("skipped: shell not installed: %v", err)
			}
			for _, way := range []string{"copied", "kept", "installed", "installed, by the login shell"} {
				t.Run(way, func(t *testing.T) { abandonStopped(t, words, way) })
			}
		})
	}
}

func abandonStopped(t *testing.T, shell []string, way string) {
	far := farHost{newHost(t), shell}
	mark := filepath.Join(far.dir, "mark")
	program := "echo $$ \"$0\" \"$@\" > '" + mark + ".new'; mv '" + mark + ".new' '" + mark + "'; kill -STOP $$; exec sleep 1000"
	src := newSource()
	src.native = src.image("linux", src.native.Arch, "#!/bin/sh\n"+program+"\n")
	var p bootstrap.Piper = far
	o := stage.Options{}
	switch way {
	case "kept":
		o.Keep = true
		t.Cleanup(func() { _ = os.Remove(fmt.Sprintf("/tmp/golaunch-%d/nla-%s", os.Getuid(), src.native.Hash)) })
	case "installed":
		o.Installed = installedAgent(t, program)
		info, err := os.Stat(o.Installed.Path)
		require.NoError(t, err)
		o.Installed.MTime, o.Installed.Owned = info.ModTime().Unix(), false
	case "installed, by the login shell":
		p, o.Installed = loginFarHost{far}, installedAgent(t, program)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type started struct {
		pipe bootstrap.Pipe
		err  error
	}
	result := make(chan started, 1)
	go func() { // ends with ctx
		pipe, err := stage.Start(ctx, p, here, src, []string{"word"}, o)
		result <- started{pipe, err}
	}()
	var pid, commandLine string
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(mark)
		pid, commandLine, _ = strings.Cut(string(text), " ")
		return err == nil
	}, patience, time.Millisecond)
	magic := halves.FindStringSubmatch(commandLine)
	require.NotNil(t, magic, commandLine)
	if way == "installed, by the login shell" {
		cancel() // nothing was heard of it
	}
	s := <-result
	if s.err == nil {
		stage.Abandon(s.pipe)
	} else {
		wantError(t, s.err, false)
	}
	require.Eventually(t, func() bool { // its parent may not have waited for it yet
		words, err := os.ReadFile("/proc/" + pid + "/cmdline")
		return err != nil || len(words) == 0
	}, patience, time.Millisecond, "process %s is left", pid)
	require.Empty(t, list(t, far.run))
	require.Empty(t, left(t, magic[1]+magic[2]))
}

// halves finds the magic of a start in a command line.
var halves = regexp.MustCompile(`\b([0-9a-f]{16}) ?([0-9a-f]{16})\b`)

// left lists what a start has left in the directories that agents are copied to and
// that all hosts of this machine share. Other starts may go on there meanwhile.
func left(t *testing.T, magic string) []string {
	var found []string
	for _, glob := range []string{"/dev/shm/golaunch-" + magic + "-*", "/tmp/golaunch-*/part-" + magic} {
		names, err := filepath.Glob(glob)
		require.NoError(t, err)
		found = append(found, names...)
	}
	return found
}

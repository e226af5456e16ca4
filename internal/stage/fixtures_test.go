package stage_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/fork"
	"github.com/golaunch/golaunch/internal/stage"
)

// selfTest makes the test binary show what stage.Self sees after its own file
// was removed.
const selfTest = "GOLAUNCH_STAGE_SELF_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(selfTest) != "" {
		showSelf()
		return
	}
	goleak.VerifyTestMain(m)
}

const patience = 2 * time.Minute

var here = bootstrap.Host{Index: 0, Name: "here"}

// shellPiper plays a remote host on this machine: it runs what Start gives it
// in another environment, after a prelude.
type shellPiper struct {
	*fork.Piper
	shell   []string // stands in for /bin/sh
	prelude string   // shell commands before the command
	env     []string
	wrap    []string // runs all that, such as unshare -m
}

func (*shellPiper) NeedsStaging() bool { return true }

func (s *shellPiper) Start(ctx context.Context, h bootstrap.Host, argv []string) (bootstrap.Pipe, error) {
	if len(s.shell) > 0 {
		argv = append(append([]string(nil), s.shell...), argv[1:]...)
	}
	all := append(append([]string(nil), s.wrap...), "env")
	all = append(all, s.env...)
	all = append(all, "/bin/sh", "-c", s.prelude+"\nexec \"$@\"", "login")
	pipe, err := s.Piper.Start(ctx, h, append(all, argv...))
	if err != nil {
		return nil, err
	}
	return companion{pipe, s}, nil
}

// companion is a pipe to such a host, whose other commands run there, too: fork's
// would in this process's environment.
type companion struct {
	bootstrap.Pipe
	on *shellPiper
}

func (c companion) Also(ctx context.Context, argv []string) error {
	pipe, err := c.on.Start(ctx, here, argv)
	if err != nil {
		return err
	}
	defer pipe.Close()
	_, err = io.Copy(io.Discard, pipe)
	return err
}

// host is such a machine with a runtime directory and a home of its own.
type host struct {
	*shellPiper
	dir       string // holds the other two
	run, home string
	inside    string // path of dir on the host itself
}

func newHost(t testing.TB) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{shellPiper: &shellPiper{Piper: &fork.Piper{KillAfter: time.Second}}, dir: dir, run: dir + "/run", home: dir + "/home", inside: dir}
	require.NoError(t, os.MkdirAll(h.run, 0o700))
	require.NoError(t, os.MkdirAll(h.home, 0o700))
	h.env = []string{"XDG_RUNTIME_DIR=" + h.run, "HOME=" + h.home}
	t.Cleanup(h.Wait)
	return h
}

// source is a stage.Source of made-up agents: shell scripts that print their
// words, do what --unlink says, and then echo.
type source struct {
	path    string
	native  stage.Image
	foreign map[string]stage.Image // by "os/arch"
	opened  atomic.Int32
}

const agent = `#!/bin/sh
printf "agent"; printf " <%s>" "$@"; echo
if [ "$1" = --unlink ]; then
	[ "$(cat /proc/self/timerslack_ns)" = 1000000 ] && [ "$GOMAXPROCS" = 1 ] || exit 1
	rm -f "$2"; rmdir "${2%/*}"
fi
exec cat
`

func newSource() *source {
	s := &source{foreign: make(map[string]stage.Image)}
	s.native = s.image("linux", runtime.GOARCH, agent+strings.Repeat("# padding to the size of something\n", 30000))
	return s
}

func (s *source) image(goos, arch, content string) stage.Image {
	sum := sha256.Sum256([]byte(content))
	return stage.Image{OS: goos, Arch: arch, Hash: hex.EncodeToString(sum[:]), Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		s.opened.Add(1)
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

func (s *source) Path() string                 { return s.path }
func (s *source) Native() (stage.Image, error) { return s.native, nil }
func (s *source) Image(goos, arch string) (stage.Image, error) {
	if goos == s.native.OS && arch == s.native.Arch {
		return s.native, nil
	}
	if img, ok := s.foreign[goos+"/"+arch]; ok {
		return img, nil
	}
	return stage.Image{}, errors.New("no agent for " + goos + "/" + arch)
}

// start starts the agent and returns its pipe and the words it got, without those
// that it is found by.
func start(t testing.TB, p bootstrap.Piper, src stage.Source, words []string, o stage.Options) (bootstrap.Pipe, []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pipe, err := stage.Start(ctx, p, here, src, words, o)
	require.NoError(t, err)
	t.Cleanup(func() { pipe.Close() })
	line := readLine(t, pipe)
	require.True(t, strings.HasPrefix(line, "agent <"), "the pipe begins with %q", line)
	got := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "agent <"), ">"), "> <")
	if got[0] == stage.StartWord {
		require.Len(t, got[1], 32)
		got = got[2:]
	}
	return pipe, got
}

// roundTrip checks that the pipe is the agent's both ways.
func roundTrip(t testing.TB, pipe bootstrap.Pipe) {
	t.Helper()
	want := bytes.Repeat([]byte("back and forth\n"), 1000)
	sent := make(chan error, 1)
	go func() { _, err := pipe.Write(want); sent <- err }() // ends with the write
	got := make([]byte, len(want))
	_, err := io.ReadFull(pipe, got)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.Equal(t, string(want), string(got))
}

// readLine takes one line and nothing that follows.
func readLine(t testing.TB, r io.Reader) string {
	t.Helper()
	line, err := bufio.NewReaderSize(oneByte{r}, 16).ReadString('\n')
	require.NoError(t, err, "after %q", line)
	return strings.TrimSuffix(line, "\n")
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

// list returns the names below dir, relative to it.
func list(t testing.TB, dir string) []string {
	t.Helper()
	out := []string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && path != dir {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return nil
	}))
	return out
}

// wantEmpty waits until nothing is left below dir.
func wantEmpty(t testing.TB, dir string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(list(t, dir)) == 0 }, patience, 5*time.Millisecond, "left below %s: %v", dir, list(t, dir))
}

// wantError checks the error of a failed Start.
func wantError(t testing.TB, err error, permanent bool, text ...string) *bootstrap.Error {
	t.Helper()
	var e *bootstrap.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, bootstrap.Stage, e.Phase, "%v", err)
	require.Equal(t, permanent, e.Permanent, "%v", err)
	for _, s := range text {
		require.ErrorContains(t, err, s)
	}
	return e
}

// namespace gives h mounts of its own: the prelude may mount over anything but
// /mnt, under which h's directories are then.
func namespace(t testing.TB, h *host, prelude string) {
	t.Helper()
	h.wrap = []string{"unshare", "-m"}
	if os.Getuid() != 0 {
		h.wrap = []string{"unshare", "-rm"}
	}
	if out, err := exec.Command(h.wrap[0], h.wrap[1], "mount", "-t", "tmpfs", "none", "/mnt").CombinedOutput(); err != nil {
		t.Skipf("mounts of its own are not to be had here: %v: %s", err, out)
	}
	h.inside = "/mnt"
	h.prelude = "cd /; mount --bind " + h.dir + " /mnt || exit; export HOME=/mnt/home XDG_RUNTIME_DIR=/mnt/run; " + prelude
}

// fakeUname makes uname on h say something else.
func (h *host) fakeUname(t testing.TB, says string) {
	t.Helper()
	h.command(t, "uname", "echo "+says)
}

// command puts a command of its own before those that h has.
func (h *host) command(t testing.TB, name, script string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(h.dir+"/bin", 0o755))
	require.NoError(t, os.WriteFile(h.dir+"/bin/"+name, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	h.prelude += "\nPATH=" + h.inside + "/bin:$PATH"
}

package stage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	"github.com/golaunch/golaunch/internal/bootstrap/fork"
	"github.com/golaunch/golaunch/internal/stage"
)

// Every shell that may be /bin/sh somewhere runs the script.
func TestStartUnderEachShell(t *testing.T) {
	for _, shell := range []string{"/bin/sh", "dash", "bash --posix", "bash", "busybox sh", "ksh", "mksh", "zsh --emulate sh"} {
		t.Run(shell, func(t *testing.T) {
			login := strings.Fields(shell)
			if _, err := exec.LookPath(login[0]); err != nil {
				t.Skipf("shell not installed: %v", err)
			}
			for _, keep := range []bool{false, true} {
				h, src := newHost(t), newSource()
				h.shell = login
				order := []string{"two words", "", "it's", "$HOME", "*"}
				dir := h.run
				if keep {
					namespace(t, h, "mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o noexec none /dev/shm")
					dir = h.home + "/.cache"
				}
				pipe, words := start(t, h, src, order, stage.Options{Keep: keep})
				if keep {
					require.Equal(t, append([]string{"--hash", src.native.Hash}, order...), words)
					pid := fmt.Sprintf("golaunch-%d", uid(h))
					require.Equal(t, []string{pid, pid + "/nla-" + src.native.Hash}, list(t, dir))
				} else {
					require.Equal(t, append([]string{"--hash", src.native.Hash}, order...), words[2:])
					require.Equal(t, "--unlink", words[0])
					require.Equal(t, h.run, filepath.Dir(filepath.Dir(words[1])))
					wantEmpty(t, h.run)
				}
				roundTrip(t, pipe)
			}
		})
	}
}

// uid returns the user that the script runs as: root, in a user namespace.
func uid(h *host) int {
	if len(h.wrap) > 0 {
		return 0
	}
	return os.Getuid()
}

func TestNoisyShell(t *testing.T) {
	h, src := newHost(t), newSource()
	h.prelude = `echo "Welcome to here"; echo; echo "running: $*"; printf "%s" "prompt> "`
	var noise []string
	pipe, _ := start(t, h, src, nil, stage.Options{Noise: func(line string) { noise = append(noise, line) }})
	require.Equal(t, "Welcome to here", noise[0])
	require.Equal(t, "prompt> ", noise[len(noise)-1])
	require.Contains(t, strings.Join(noise, "\n"), "running: /bin/sh -c")
	roundTrip(t, pipe)
}

func TestShellThatNeverRunsTheScript(t *testing.T) {
	for _, tc := range []struct {
		name, prelude string
		permanent     bool
		want          string
	}{
		{name: "nologin", prelude: "echo This account is currently not available.; exit 1", permanent: true, want: "before it ran /bin/sh: This account is currently not available."},
		{name: "dies", prelude: "echo no such luck >&2; exit 1", permanent: true, want: "before it ran /bin/sh: no such luck"},
		{name: "endless lines", prelude: "exec yes", permanent: true, want: "more than 1 MiB"},
		{name: "endless line", prelude: "exec cat /dev/zero", permanent: true, want: "more than 1 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t)
			h.prelude = tc.prelude
			_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{})
			wantError(t, err, tc.permanent, tc.want)
		})
	}
}

// A command that hands no input on is told apart from a connection that is lost.
func TestShellWithoutInput(t *testing.T) {
	h := newHost(t)
	h.prelude = "exec </dev/null"
	_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{})
	wantError(t, err, true, "the shell there has no input, by which the agent would be brought")
}

// A host that speaks as the script does, and without end, is heard for so long only,
// and its words are kept.
func TestHostThatSaysTooMuch(t *testing.T) {
	const script = `a=$5$6; `
	for name, x := range map[string]struct{ prelude, want string }{
		"skipped places":      {`yes "$a skip /tmp: there is no room" | head -c 240000000; exit 1`, "more than it has to"},
		"one endless line":    {`printf "%s" "$a skip "; head -c 240000000 /dev/zero; exit 1`, "1 MiB"},
		"one long line":       {`printf "%s" "$a skip "; head -c 100000 /dev/zero; echo; exit 1`, "more than it has to"},
		"a place that is not": {`echo "$a need Linux x86_64"; read -r y; echo "$a full 9 x"; exec cat > /dev/null`, `candidate "9" is full`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.prelude = script + x.prelude
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{})
			runtime.ReadMemStats(&after)
			wantError(t, err, true, x.want)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
		})
	}
}

func TestPatienceAndCancellation(t *testing.T) {
	h := newHost(t)
	h.prelude = "sleep 3"
	_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{Timeout: 50 * time.Millisecond})
	e := wantError(t, err, false, "not done within 50ms")
	require.ErrorIs(t, e, context.DeadlineExceeded)

	ctx, cancel := context.WithCancel(t.Context())
	h = newHost(t)
	h.prelude = "echo here; exec sleep 3"
	_, err = stage.Start(ctx, h, here, newSource(), nil, stage.Options{Noise: func(string) { cancel() }})
	require.ErrorIs(t, wantError(t, err, false), context.Canceled)
}

// Read-only, noexec, full and unset candidates are passed over, in one run of
// the script or by starting again; if all are, the error says why for each.
func TestCandidates(t *testing.T) {
	const full = `mount -t tmpfs -o size=256k,mode=700 none "$XDG_RUNTIME_DIR"; `
	const noexec = "mount -t tmpfs -o noexec,mode=1777 none /dev/shm; "
	const readonly = "mount -t tmpfs -o ro,mode=1777 none /tmp; "

	t.Run("the last one", func(t *testing.T) {
		h, src := newHost(t), newSource()
		namespace(t, h, full+noexec+readonly)
		pipe, words := start(t, h, src, nil, stage.Options{})
		require.Equal(t, h.inside+"/home/.cache", filepath.Dir(filepath.Dir(words[1])))
		require.EqualValues(t, 2, src.opened.Load(), "one copy that filled a directory, one that did it")
		roundTrip(t, pipe)
		wantEmpty(t, h.home+"/.cache")
	})
	t.Run("a directory that is not sticky", func(t *testing.T) {
		h := newHost(t)
		namespace(t, h, "unset XDG_RUNTIME_DIR; mount -t tmpfs -o mode=777 none /dev/shm; mount -t tmpfs -o mode=1777 none /tmp")
		_, words := start(t, h, newSource(), nil, stage.Options{})
		require.Equal(t, "/tmp", filepath.Dir(filepath.Dir(words[1])))
	})
	t.Run("none", func(t *testing.T) {
		h := newHost(t)
		namespace(t, h, full+noexec+readonly+"unset HOME")
		_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{})
		e := wantError(t, err, true, "no directory takes the agent: ", h.inside+"/run: no space left on device",
			"/dev/shm: nothing may be executed there", "/tmp: ", "Read-only file system", "HOME/.cache: not set")
		require.Contains(t, e.Hint, "noexec")
	})
	t.Run("all full", func(t *testing.T) {
		h := newHost(t)
		const allFull = "for d in /dev/shm /tmp; do mount -t tmpfs -o size=4k,mode=1777 none $d; head -c 4096 /dev/zero >$d/all; done; "
		namespace(t, h, allFull+"unset XDG_RUNTIME_DIR HOME")
		for _, keep := range []bool{false, true} {
			_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{Keep: keep})
			wantError(t, err, true, "/dev/shm: no space left on device; ", "/tmp: no space left on device; ")
		}
	})
	t.Run("none that the account may write", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can be another account")
		}
		h := newHost(t)
		namespace(t, h, "unset XDG_RUNTIME_DIR; for d in /dev/shm /tmp; do mount -t tmpfs -o mode=1755 none $d; done; chmod 755 /mnt /mnt/home; "+
			`set -- setpriv --reuid 12345 --regid 12345 --clear-groups "$@"`)
		for _, keep := range []bool{false, true} {
			_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{Keep: keep})
			e := wantError(t, err, true, "XDG_RUNTIME_DIR: not set", "/dev/shm: we may not write there", "/tmp: we may not write there", "/home/.cache: we may not write there")
			require.Contains(t, e.Hint, "give the account the right to write")
			require.NotContains(t, e.Hint, "room")
		}
	})
	t.Run("a runtime directory of somebody else", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can make one")
		}
		h := newHost(t)
		require.NoError(t, os.Chown(h.run, 12345, 12345))
		namespace(t, h, noexec+readonly)
		_, words := start(t, h, newSource(), nil, stage.Options{})
		require.Equal(t, h.inside+"/home/.cache", filepath.Dir(filepath.Dir(words[1])))
	})
}

// A PATH that start-up files have spoilt is named, and nothing else that comes of it.
func TestCommandsThatPATHDoesNotHave(t *testing.T) {
	for _, keep := range []bool{false, true} {
		h := newHost(t)
		require.NoError(t, os.Mkdir(h.home+"/some", 0o700))
		require.NoError(t, os.Symlink("/bin/uname", h.home+"/some/uname"))
		for path, command := range map[string]string{"/no/such/place:/nor/this": "uname", h.home + "/some": "mkdir"} {
			h.prelude = "PATH=" + path
			_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{Keep: keep})
			e := wantError(t, err, true, "the shell there finds no "+command+" in its PATH ("+path+")")
			require.Contains(t, e.Hint, "PATH")
			require.NotContains(t, e.Error(), "directory")
			wantEmpty(t, h.run)
		}
	}
}

func TestKeepCopiesOnce(t *testing.T) {
	h, src := newHost(t), newSource()
	namespace(t, h, "mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /dev/shm")
	file := fmt.Sprintf("%s/.cache/golaunch-%d/nla-%s", h.home, uid(h), src.native.Hash)

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { // ends with its agent
			pipe, err := stage.Start(t.Context(), h, here, src, nil, stage.Options{Keep: true})
			if assert.NoError(t, err) {
				pipe.Close()
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, src.native.Size, info.Size())
	require.Len(t, list(t, h.home+"/.cache"), 2, "nothing but the agent is left")

	before := src.opened.Load()
	pipe, words := start(t, h, src, []string{"w"}, stage.Options{Keep: true})
	require.Equal(t, before, src.opened.Load(), "nothing was sent")
	require.Equal(t, []string{"--hash", src.native.Hash, "w"}, words)
	roundTrip(t, pipe)
	dir, err := os.Stat(filepath.Dir(file))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), dir.Mode().Perm())
}

// A directory that somebody else may have put in the place of ours is not used.
func TestPlantedDirectories(t *testing.T) {
	for _, tc := range []struct {
		name  string
		plant func(t *testing.T, h *host, dir string)
	}{
		{"link to a directory of ours", func(t *testing.T, h *host, dir string) {
			require.NoError(t, os.Mkdir(h.home+"/elsewhere", 0o700))
			require.NoError(t, os.Symlink(h.inside+"/home/elsewhere", dir))
			t.Cleanup(func() { require.Empty(t, list(t, h.home+"/elsewhere")) })
		}},
		{"dangling link", func(t *testing.T, h *host, dir string) { require.NoError(t, os.Symlink("/no/such/place", dir)) }},
		{"file", func(t *testing.T, h *host, dir string) { require.NoError(t, os.WriteFile(dir, nil, 0o600)) }},
		{"directory of another user", func(t *testing.T, h *host, dir string) {
			if os.Getuid() != 0 {
				t.Skip("only root can give directories away")
			}
			require.NoError(t, os.Mkdir(dir, 0o777))
			require.NoError(t, os.Chown(dir, 12345, 12345))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t)
			namespace(t, h, "unset XDG_RUNTIME_DIR; mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /dev/shm")
			require.NoError(t, os.Mkdir(h.home+"/.cache", 0o700))
			tc.plant(t, h, fmt.Sprintf("%s/.cache/golaunch-%d", h.home, uid(h)))
			_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{Keep: true})
			wantError(t, err, true, h.inside+"/home/.cache: ")
		})
	}
}

func TestOtherPlatforms(t *testing.T) {
	t.Run("none for it", func(t *testing.T) {
		h := newHost(t)
		h.fakeUname(t, "Linux riscv64")
		_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{})
		wantError(t, err, true, "no agent for linux/riscv64")
		wantEmpty(t, h.run)
	})
	t.Run("another system", func(t *testing.T) {
		h := newHost(t)
		h.fakeUname(t, "SunOS sun4v")
		_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{})
		wantError(t, err, true, "its system is SunOS")
	})
	t.Run("its own", func(t *testing.T) {
		h, src := newHost(t), newSource()
		h.fakeUname(t, "Linux riscv64")
		src.foreign["linux/riscv64"] = src.image("linux", "riscv64", agent+"# other")
		_, words := start(t, h, src, nil, stage.Options{})
		require.Equal(t, src.foreign["linux/riscv64"].Hash, words[3])
	})
	t.Run("kept", func(t *testing.T) {
		h, src := newHost(t), newSource()
		namespace(t, h, "unset XDG_RUNTIME_DIR; mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /dev/shm")
		h.fakeUname(t, "Linux riscv64")
		src.foreign["linux/riscv64"] = src.image("linux", "riscv64", agent+"# other")
		for range 2 {
			pipe, words := start(t, h, src, nil, stage.Options{Keep: true})
			require.Equal(t, []string{"--hash", src.foreign["linux/riscv64"].Hash}, words)
			roundTrip(t, pipe)
		}
		require.EqualValues(t, 1, src.opened.Load())
		require.Len(t, list(t, h.home+"/.cache"), 2)
	})
}

// A copy cut short is never run and leaves nothing.
func TestInterruptedCopies(t *testing.T) {
	t.Run("by us", func(t *testing.T) {
		h, src := newHost(t), newSource()
		ctx, cancel := context.WithCancel(t.Context())
		src.native.Open = func() (io.ReadCloser, error) {
			return &stalling{t: t, data: strings.NewReader(agent), stalled: cancel, done: ctx.Done()}, nil
		}
		_, err := stage.Start(ctx, h, here, src, nil, stage.Options{})
		require.ErrorIs(t, wantError(t, err, false), context.Canceled)
		wantEmpty(t, h.run)
	})
	t.Run("executable shrinks", func(t *testing.T) {
		h, src := newHost(t), newSource()
		src.native.Size++
		_, err := stage.Start(t.Context(), h, here, src, nil, stage.Options{})
		wantError(t, err, true, "agent executable: ", "EOF")
		wantEmpty(t, h.run)
	})
	t.Run("executable is gone", func(t *testing.T) {
		h, src := newHost(t), newSource()
		src.native.Open = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
		_, err := stage.Start(t.Context(), h, here, src, nil, stage.Options{})
		wantError(t, err, true, "gone")
		wantEmpty(t, h.run)
	})
	t.Run("host's dd counts no bytes", func(t *testing.T) {
		h, src := newHost(t), newSource()
		h.command(t, "dd", "exit 1")
		pipe, err := stage.Start(t.Context(), h, here, src, nil, stage.Options{})
		require.NoError(t, err)
		pipe.Close()
	})
	t.Run("host loses head", func(t *testing.T) {
		h, src := newHost(t), newSource()
		h.command(t, "dd", "exit 1") // as one that cannot count bytes
		h.command(t, "head", "kill -9 $PPID")
		_, err := stage.Start(t.Context(), h, here, src, nil, stage.Options{})
		wantError(t, err, false)
	})
}

// stalling is an executable that stops coming half-way.
type stalling struct {
	t       *testing.T
	data    io.Reader
	stalled func()
	done    <-chan struct{}
}

func (s *stalling) Read(p []byte) (int, error) {
	n, err := s.data.Read(p)
	if err == io.EOF {
		s.stalled()
		<-s.done
	}
	return n, err
}

func (s *stalling) Close() error { return nil }

func TestNothingIsStagedWhereFilesAreShared(t *testing.T) {
	f := &fork.Piper{}
	t.Cleanup(f.Wait)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/nla", []byte(agent), 0o755))
	pipe, words := start(t, f, &source{path: dir + "/nla"}, []string{"a", "b c"}, stage.Options{})
	require.Equal(t, []string{"a", "b c"}, words)
	roundTrip(t, pipe)
}

func TestWordsArriveVerbatim(t *testing.T) {
	h, src := newHost(t), newSource()
	src.native = src.image("linux", src.native.Arch, "#!/bin/sh\nshift 4; for w in \"$@\"; do printf \"%s\" \"${#w}.$w;\"; done\n")
	h.env = append(h.env, "LC_ALL=C")
	pipe, err := stage.Start(t.Context(), h, here, src, bootstraptest.NastyWords(), stage.Options{})
	require.NoError(t, err)
	defer pipe.Close()
	got, err := io.ReadAll(pipe)
	require.NoError(t, err)
	var want strings.Builder
	for _, w := range bootstraptest.NastyWords() {
		fmt.Fprintf(&want, "%d.%s;", len(w), w)
	}
	require.Equal(t, want.String(), string(got))
}

// An installed agent is run in place of a copy only if it is the very file and
// nobody else could have put it there.
func TestInstalledAgent(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(path string, i *stage.Installed) error
		run    bool
	}{
		{"the same file", func(string, *stage.Installed) error { return nil }, true},
		{"of another time", func(_ string, i *stage.Installed) error { i.MTime++; return nil }, false},
		{"of another size", func(_ string, i *stage.Installed) error { i.Size++; return nil }, false},
		{"gone", func(path string, _ *stage.Installed) error { return os.Remove(path) }, false},
		{"not executable", func(path string, _ *stage.Installed) error { return os.Chmod(path, 0o600) }, false},
		{"that its group may write", func(path string, _ *stage.Installed) error { return os.Chmod(path, 0o770) }, false},
		{"that all may write", func(path string, _ *stage.Installed) error { return os.Chmod(path, 0o757) }, false},
		{"of another user", func(path string, _ *stage.Installed) error {
			if os.Getuid() != 0 {
				return errors.ErrUnsupported
			}
			return os.Chown(path, 12345, -1)
		}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			h, src := newHost(t), newSource()
			path := filepath.Join(t.TempDir(), "golaunch it's")
			content, err := src.native.Open()
			require.NoError(t, err)
			file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
			require.NoError(t, err)
			_, err = io.Copy(file, content)
			require.NoError(t, err)
			require.NoError(t, file.Close())
			info, err := os.Stat(path)
			require.NoError(t, err)
			installed := stage.Installed{Path: path, Size: info.Size(), MTime: info.ModTime().Unix()}
			if err := x.change(path, &installed); err != nil {
				t.Skipf("skipped: %v (not root?)", err)
			}
			pipe, words := start(t, h, src, []string{"two words"}, stage.Options{Installed: installed})
			if x.run {
				require.Equal(t, []string{"two words"}, words)
			} else {
				require.Equal(t, append([]string{"--hash", src.native.Hash}, "two words"), words[2:])
			}
			roundTrip(t, pipe)
		})
	}
}

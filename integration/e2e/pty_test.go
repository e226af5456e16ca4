package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/golaunch/golaunch/integration/cluster"
	ownunix "github.com/golaunch/golaunch/internal/unix"
)

// seat is a terminal at which golaunch was called.
type seat struct {
	t         *testing.T
	user, tty *os.File
	before    unix.Termios
	cmd       *cluster.Cmd
	over      chan error

	mu     sync.Mutex
	shown  bytes.Buffer
	past   int // bytes of shown that were looked for
	change chan struct{}
}

// sit calls golaunch at a terminal of a node of the cluster, or of this machine where
// there is none.
func sit(t *testing.T, c *cluster.Cluster, words ...string) *seat {
	t.Helper()
	user, tty, err := ownunix.OpenPTY()
	require.NoError(t, err)
	s := &seat{t: t, user: user, tty: tty, over: make(chan error, 1), change: make(chan struct{}, 1)}
	s.resize(30, 100)
	s.before = s.modes()
	words = append([]string{bin("golaunch")}, words...)
	var start func() error
	if c != nil {
		s.cmd = c.Command(cluster.Head, append([]string{"setsid", "-c"}, words...)...)
		start = s.cmd.Start
	} else {
		s.cmd = &cluster.Cmd{Cmd: exec.Command("setsid", append([]string{"-c"}, words...)...)}
		start = s.cmd.Cmd.Start
	}
	s.cmd.Env = append(s.cmd.Environ(), "TERM=vt220")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	require.NoError(t, start())
	t.Cleanup(func() { s.cmd.Process.Kill(); user.Close(); tty.Close() })
	go func() { // ends with the terminal
		buf := make([]byte, 64<<10)
		for {
			n, err := user.Read(buf)
			s.mu.Lock()
			s.shown.Write(buf[:n])
			s.mu.Unlock()
			select {
			case s.change <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	go func() { s.over <- s.cmd.Wait() }() // ends with golaunch
	return s
}

func (s *seat) resize(rows, columns uint16) {
	require.NoError(s.t, unix.IoctlSetWinsize(int(s.user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
	require.NoError(s.t, s.user.SetDeadline(time.Time{})) // Fd has made it wait
}

// modes returns the modes of the terminal.
func (s *seat) modes() unix.Termios {
	m, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	require.NoError(s.t, err)
	return *m
}

func (s *seat) types(keys string) {
	s.t.Helper()
	_, err := io.WriteString(s.user, keys)
	require.NoError(s.t, err)
}

// await waits until the terminal shows a match, beyond the text seen before.
func (s *seat) await(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	overdue := time.After(limit)
	for {
		s.mu.Lock()
		rest := s.shown.Bytes()[s.past:]
		if at := re.FindIndex(rest); at != nil {
			got := string(rest[at[0]:at[1]])
			s.past += at[1]
			s.mu.Unlock()
			return got
		}
		text := string(rest)
		s.mu.Unlock()
		select {
		case <-s.change:
		case <-overdue:
			require.FailNow(s.t, "not seen: "+pattern, "%q", text)
		}
	}
}

// ends waits for golaunch's end: its exit status, and the terminal as it was.
func (s *seat) ends(code int) {
	s.t.Helper()
	select {
	case <-s.over:
	case <-time.After(limit):
		require.FailNow(s.t, "golaunch does not end")
	}
	require.Equal(s.t, code, s.cmd.ProcessState.ExitCode(), s.shown.String())
	require.Equal(s.t, s.before, s.modes(), "the terminal is as it was")
}

// bash is a shell that asks nothing of its node.
func bash(words ...string) []string {
	return append(words, "--pty", "-x", "PS1=ready> ", "bash", "--norc", "--noprofile", "-i")
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
	ctrlZ = "\x1a"
)

// A user at golaunch's terminal works in the shell of a node.
func TestTerminal(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 2)
	s := sit(t, c, bash("-n", "1", "-H", hostsArg(2), "--ssh-config", c.SSHConfig())...)
	s.await("ready> ")
	s.types("echo at $(tty) $(stty size) $TERM $(hostname); test -t 0 -a -t 1 -a -t 2 && echo all t''hree\r")
	s.await(`at /dev/pts/\d+ 30 100 vt220 n001\r\n`)
	s.await("all three\r\n")
	s.resize(40, 120)
	s.types("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo re''sized\r")
	s.await("resized")
	s.types(`sh -c 'echo be""gun; exec sleep 1000'` + "\r") // the keys are for it, not for bash between two programs
	s.await("begun")
	s.types(ctrlC)
	s.await("ready> ")
	s.types("echo st''ill $?\r")
	s.await("still 130")
	s.types(`sh -c 'echo be""gun; exec sleep 1000'` + "\r") // the keys are for it, not for bash between two programs
	s.await("begun")
	s.types(ctrlZ)
	s.await("Stopped")
	s.types("kill -9 %1; disown; exit 5\r") // bash does not exit as long as it has a stopped job
	s.await("golaunch: rank 0 on n001 .* exited with code 5\r\n")
	s.ends(5)
	nothingLeft(t, c, firstNodes(c, 2)...)
}

// Ctrl-D is the end of input.
func TestTerminalKeys(t *testing.T) {
	s := sit(t, nil, "-n", "1", "--pty", "sh", "-c", "echo ready; cat; echo over")
	s.await("ready")
	s.types("line\r")
	s.await("line\r\nline\r\n")
	s.types(ctrlD)
	s.await("over")
	s.ends(0)
}

// However golaunch ends, the terminal has its old modes, and golaunch's words begin
// their lines.
func TestTerminalIsRestored(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 2)
	for name, x := range map[string]struct {
		strike  func(s *seat)
		code    int
		message string
	}{
		"told to end": {
			func(s *seat) { require.NoError(t, s.cmd.Signal(syscall.SIGTERM)) }, 143,
			`ready> (\r\x1b\[K)?\r\ngolaunch: told to terminate: the job is ended; once more kills its ranks at once\r\n`,
		},
		"its agent is killed": {
			func(*seat) { kill(t, c, "n001", "nla-agent") }, 125,
			`ready> (\r\x1b\[K)?\r\ngolaunch: host n001 .*\r\n`,
		},
		"its link is cut": {
			func(*seat) {
				require.NoError(t, c.Partition("n001"))
				t.Cleanup(func() { require.NoError(t, c.Heal("n001")) })
			}, 125, `ready> (\r\x1b\[K)?\r\ngolaunch: host n001 .*\r\n`,
		},
		"its time is over": {func(*seat) {}, 124, `golaunch: .* within 3s.*\r\n`},
	} {
		t.Run(name, func(t *testing.T) {
			lostAfter := "1h"
			if name == "its link is cut" {
				lostAfter = "2s"
			}
			words := []string{"-n", "1", "-H", "n001", "--ssh-config", c.SSHConfig(), "--lost-after", lostAfter, "--grace", "1h"}
			if x.code == 124 {
				words = append(words, "--timeout", "3s")
			}
			// not bash, which acts on a signal that comes just before it reads keys at
			// the next key
			s := sit(t, c, append(words, "--pty", "sh", "-c", "printf 'ready> '; exec cat")...)
			if x.code != 124 {
				s.await("ready> $")
				s.past -= len("ready> ")
			}
			x.strike(s)
			s.await(x.message)
			s.ends(x.code)
			if name == "its link is cut" {
				require.NoError(t, c.Heal("n001"))
			}
			nothingLeft(t, c, "n001")
		})
	}
}

// golaunch that is stopped leaves the terminal to the shell, and has it again later.
func TestTerminalWhileStopped(t *testing.T) {
	s := sit(t, nil, bash("-n", "1")...)
	s.await("ready> ")
	raw := s.modes()
	require.NotEqual(t, s.before, raw)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTSTP))
	require.Eventually(t, func() bool { return state(t, s.cmd.Process.Pid) == "T" }, limit, 10*time.Millisecond)
	require.Equal(t, s.before, s.modes())
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return s.modes() == raw }, limit, 10*time.Millisecond)
	s.types("echo a''wake\r")
	s.await("awake")
	s.types("exit\r")
	s.ends(0)
}

// All that a program prints at its terminal arrives before golaunch ends, whoever reads.
func TestTerminalOutputIsComplete(t *testing.T) {
	const size = 1 << 20
	r := local(t, "", "-n", "1", "--pty", "sh", "-c", fmt.Sprintf("stty -opost; head -c %d /dev/zero | tr '\\0' x", size))
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, strings.Repeat("x", size), r.stdout)
	s := sit(t, nil, "-n", "1", "--pty", "sh", "-c", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo all", size))
	require.Len(t, s.await("x+all"), size+len("all"))
	s.ends(0)
}

// Without a terminal of its own golaunch types its standard input at that of rank 0, and
// the end of it, which a shell takes as such.
func TestTerminalForAScript(t *testing.T) {
	for _, words := range [][]string{{"-n", "1", "--pty", "sh"}, bash("-n", "1")} {
		r := local(t, "stty size\necho $((1 + 1)) lines\n", words...)
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stdout, "24 80\r\n")
		require.Contains(t, r.stdout, "2 lines\r\n")
	}
	text := strings.Repeat("line of input\n", 100_000)
	r := local(t, text, "-n", "1", "--pty", "sh", "-c", "stty -echo; wc -l")
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `(^|[^0-9])100000\r\n$`, r.stdout, "behind what came before the terminal was told not to show it")
	r = local(t, "no newline", "-n", "1", "--pty", "cat")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "no newlineno newline", r.stdout, "as it was typed, and as cat has it")
}

// Only rank 0 has the terminal. Processes that it leaves behind there hold nobody up.
func TestTerminalIsRankZeros(t *testing.T) {
	r := local(t, "", "-n", "3", "--nodes", "3", "--degree", "1", "--pty", "sh", "-c",
		"if test -t 1; then trap '' HUP; "+bin("rankprobe")+" sleep & fi; test -t 1 && echo rank $RANK; echo $RANK has $(readlink /proc/self/fd/0)")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "rank 0\r\n")
	require.Regexp(t, `0 has /dev/pts/\d+\r\n`, r.stdout)
	require.Contains(t, r.stdout, "1 has /dev/null\n")
	require.Contains(t, r.stdout, "2 has /dev/null\n")
	require.NotContains(t, r.stdout, "rank 1")
	nothingRuns(t)
}

// The lines of other ranks begin at the left while the terminal is rank 0's, and once it
// has ended Ctrl-C is for golaunch again.
func TestTerminalBesideOtherRanks(t *testing.T) {
	s := sit(t, nil, "-n", "2", "--pty", "sh", "-c", `if [ $RANK = 0 ]; then read x; exit; fi
		echo ready of rank 1; while test -d /proc/$PPID; do sleep 0.1; done`)
	s.await("ready of rank 1\r\n")
	require.Eventually(t, func() bool { return s.modes() != s.before }, limit, 10*time.Millisecond)
	s.types("\r")
	require.Eventually(t, func() bool { return s.modes() == s.before }, limit, 10*time.Millisecond)
	s.types(ctrlC)
	s.await("golaunch: interrupting the ranks")
	s.ends(130)
}

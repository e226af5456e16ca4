package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// shellWith runs a shell command, in which $golaunch is golaunch, with the given
// standard input.
func shellWith(t *testing.T, stdin io.Reader, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env = append(os.Environ(), "golaunch="+bin("golaunch"), "rankprobe="+bin("rankprobe"))
	cmd.Stdin = stdin
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), out.String())
	return out.String()
}

// The rest of a file that no rank reads is there for the next reader.
func TestStdinFileIsGivenBack(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	for name, content := range map[string]string{"short": "line 0\nline 1\nline 2\n", "long": text.String()} {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		rest := content[len("line 0\n"):]
		for _, x := range []struct{ command, want string }{
			{"$golaunch -n 2 true; cat", content},
			{"$golaunch -n 2 -i all --nodes 2 true; cat", content},
			{"$golaunch -n 1 -i none true; cat", content},
			{"$golaunch -n 1 sh -c 'exec <&-; true'; cat", content},
			{"$golaunch -n 1 sh -c 'read x; echo got $x'; cat", "got line 0\n" + rest},
			{"$golaunch -n 3 -i all --nodes 3 --degree 1 sh -c 'read x; [ $RANK = 2 ] && read x || true'; cat", rest[len("line 1\n"):]},
			{"$golaunch -n 1 cat; cat", content},
			{"while read line; do $golaunch -n 1 true; [ \"$line\" = 'line 2' ] && break; done; echo $line", "line 2\n"},
		} {
			f, err := os.Open(file)
			require.NoError(t, err)
			require.Equal(t, x.want, shellWith(t, f, x.command), "%s: %s", name, x.command)
			f.Close()
		}
	}
}

// untilInput is a command of bash that waits until there is standard input, and
// reads nothing of it.
const untilInput = "until read -t 0; do sleep 0.01; done"

// Bytes that were read of a pipe cannot be put back: a rank that never reads costs at
// most a page of it.
func TestStdinPipeKeepsAllButAPage(t *testing.T) {
	const size = 1 << 20
	out := shellWith(t, bytes.NewReader(make([]byte, size)), "$golaunch -n 2 bash -c '[ $RANK = 1 ] || { "+untilInput+"; }'; wc -c")
	left, err := strconv.Atoi(strings.TrimSpace(out))
	require.NoError(t, err)
	require.GreaterOrEqual(t, left, size-4096)
}

// Of a terminal golaunch takes one line for a rank that never reads; the shell gets the
// other lines. A rank that reads gets all of it.
func TestStdinTerminalIsReadByLine(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("skipped: no script; apt-get install bsdutils")
	}
	const typed = "one\ntwo\nthree\n"
	run := func(command string) string {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, "script", "-qec", command, "/dev/null")
		cmd.Env = append(os.Environ(), "golaunch="+bin("golaunch"))
		// The input stays open: its end would end what runs.
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		defer in.Close()
		_, err = io.WriteString(in, typed)
		require.NoError(t, err)
		out, err := cmd.Output()
		require.NoError(t, err)
		return strings.ReplaceAll(string(out), "\r", "")
	}
	require.Contains(t, run("$golaunch -n 1 bash -c '"+untilInput+"'; read x; echo next is $x"), "next is two")
	require.Contains(t, run("$golaunch -n 1 sh -c 'read a; read b; read c; echo got $a $b $c'"), "got one two three")
}

// A rank that closes its standard input and runs on costs the agent nothing.
func TestStdinClosedByARank(t *testing.T) {
	cmd := exec.Command(bin("golaunch"), "-n", "1", "sh", "-c", "exec <&-; exec "+bin("rankprobe")+" sleep")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	begin(t, cmd, cmd)
	defer cmd.Wait()
	defer cmd.Process.Kill()
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	children, err := exec.Command("pgrep", "-P", strconv.Itoa(cmd.Process.Pid)).Output()
	require.NoError(t, err)
	agent := strings.Fields(string(children))
	require.Len(t, agent, 1)
	ticks := func() (sum int) {
		b, err := os.ReadFile("/proc/" + agent[0] + "/stat")
		require.NoError(t, err)
		for _, f := range strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))[11:13] {
			n, err := strconv.Atoi(f)
			require.NoError(t, err)
			sum += n
		}
		return sum
	}
	before := ticks()
	time.Sleep(time.Second) //nolint:forbidigo // a busy loop would fill it
	require.Less(t, ticks()-before, 30, "hundredths of a second of processor time")
}

// stdinBytes returns the number of bytes that TestStdinVolume sends, from STDIN_BYTES.
func stdinBytes(t *testing.T) int64 {
	text := os.Getenv("STDIN_BYTES")
	if text == "" {
		return 64 << 20
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err, "STDIN_BYTES")
	return n
}

// pattern is bytes that repeat only after a prime number, and their FNV-1a sum.
type pattern struct {
	left int64
	at   int
	sum  uint64
}

func newPattern(size int64) *pattern { return &pattern{left: size, sum: 14695981039346656037} }

func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n := int(min(p.left, int64(len(b))))
	for i := range b[:n] {
		b[i] = byte(p.at>>8) ^ byte(p.at)
		p.sum = (p.sum ^ uint64(b[i])) * 1099511628211
		if p.at++; p.at == 1_000_003 {
			p.at = 0
		}
	}
	p.left -= int64(n)
	return n, nil
}

// Much standard input, to one rank or to all ranks of several nodes, arrives whole, in
// order, and with its end.
//
//report:io openpmix/prrte#2579 much standard input to one rank, or to all
func TestStdinVolume(t *testing.T) {
	c := theCluster(t)
	size := stdinBytes(t)
	for _, x := range []struct {
		to      string
		readers []int
	}{{"5", []int{5}}, {"all", []int{0, 1, 2, 3, 4, 5, 6, 7}}} {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		input := newPattern(size)
		cmd := c.CommandContext(ctx, cluster.Head, bin("golaunch"), "-H", hostsArg(4), "--ssh-config", c.SSHConfig(),
			"-n", "8", "--degree", "2", "-i", x.to, bin("rankprobe"), "stdin")
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &errs
		require.NoError(t, cmd.Run(), errs.String())
		for _, rank := range x.readers {
			require.Contains(t, out.String(), fmt.Sprintf("rank %d stdin %d bytes sum %016x\n", rank, size, input.sum))
		}
	}
}

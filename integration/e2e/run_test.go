package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// limit bounds one run of golaunch: a hang is a failure, not a wait.
const limit = 4 * time.Minute

// result is the outcome of a run of golaunch.
type result struct {
	code   int
	stdout string
	stderr string
	took   time.Duration
}

// lines are the lines of standard output.
func (r result) lines() []string {
	return strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
}

// saidSoFar collects the output of a process that runs on.
type saidSoFar struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *saidSoFar) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *saidSoFar) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// starter is the common part of exec.Cmd and cluster.Cmd.
type starter interface {
	Start() error
	Wait() error
}

// begin starts run, which is cmd or has it in it, and has it killed after limit, and at the
// end of the test: whoever waits for it, or for what it says, waits no longer.
func begin(t *testing.T, run starter, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, run.Start())
	kill := func() { _ = cmd.Process.Kill() } // does nothing to one that was waited for
	overdue := time.AfterFunc(limit, kill)
	t.Cleanup(func() {
		overdue.Stop()
		kill()
	})
}

// finish runs a command as begin does, with an input, and returns its result.
func finish(t *testing.T, run starter, cmd *exec.Cmd, stdin string) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	cmd.WaitDelay = 10 * time.Second
	started := time.Now()
	begin(t, run, cmd)
	err := run.Wait()
	r := result{stdout: out.String(), stderr: errs.String(), took: time.Since(started)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	default:
		require.NoError(t, err, r.stderr)
	}
	return r
}

// hear runs a command as begin does, and calls heard for each line of its standard error.
// It returns these lines and the end of the command.
func hear(t *testing.T, run starter, cmd *exec.Cmd, heard func(line string)) (all []string, ended error) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	begin(t, run, cmd)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		all = append(all, lines.Text())
		heard(lines.Text())
	}
	return all, run.Wait()
}

// local runs golaunch on this machine.
func local(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := exec.Command(bin("golaunch"), args...)
	cmd.Env = os.Environ()
	return finish(t, cmd, cmd, stdin)
}

// onNode runs golaunch on a node as it is.
func onNode(t *testing.T, c *cluster.Cluster, node string, args ...string) result {
	t.Helper()
	cmd := c.Command(node, append([]string{bin("golaunch")}, args...)...)
	cmd.Env = append(cmd.Env, patient...)
	return finish(t, cmd, cmd.Cmd, "")
}

// nothingLeft asserts that no agent, warden or rank of ours runs on any of the
// nodes, and that no staged file is left there.
func nothingLeft(t *testing.T, c *cluster.Cluster, names ...string) {
	t.Helper()
	// The time is measured elsewhere; hundreds of nodes share two cores here.
	var left []string
	cluster.Eventually(limit, func() bool {
		left = leftovers(t, c, names...)
		return len(left) == 0
	})
	require.Empty(t, left)
}

func leftovers(t *testing.T, c *cluster.Cluster, names ...string) []string {
	t.Helper()
	var left []string
	for _, name := range names {
		procs, err := c.Processes(name)
		require.NoError(t, err)
		for _, p := range procs {
			line := strings.Join(p.Cmdline, " ")
			if strings.Contains(line, "nla-agent") || strings.Contains(line, "nla-warden") || strings.Contains(line, built) && !strings.Contains(line, "cluster-") {
				left = append(left, name+": "+line)
			}
		}
	}
	return left
}

func firstNodes(c *cluster.Cluster, n int) []string {
	var names []string
	for _, node := range c.Nodes()[:n] {
		names = append(names, node.Name)
	}
	return names
}

// checkLines asserts that rankprobe's "lines" of n ranks came whole and in
// order, by the checksum that each rank prints last.
func checkLines(t *testing.T, r result, n int) {
	t.Helper()
	sums := make([]uint64, n)
	bytes := make([]int, n)
	counts := make([]int, n)
	checked := 0
	for i := range sums {
		sums[i] = 14695981039346656037
	}
	for _, line := range r.lines() {
		var rank, number, size int
		var sum uint64
		if k, _ := fmt.Sscanf(line, "rank %d wrote %d lines %d bytes sum %x", &rank, &number, &size, &sum); k == 4 {
			require.Equal(t, [3]uint64{uint64(number), uint64(size), sum}, [3]uint64{uint64(counts[rank]), uint64(bytes[rank]), sums[rank]}, "rank %d", rank)
			checked++
			continue
		}
		k, err := fmt.Sscanf(line, "rank %d line %d ", &rank, &number)
		require.Equal(t, 2, k, "%v in %.80q", err, line)
		require.Equal(t, counts[rank], number, "order of rank %d", rank)
		counts[rank]++
		bytes[rank] += len(line) + 1
		for _, c := range []byte(line + "\n") { // 64-bit FNV-1a
			sums[rank] = (sums[rank] ^ uint64(c)) * 1099511628211
		}
	}
	require.Equal(t, n, checked, "every rank said how much it wrote")
}

func TestLabelsAndFoldedOutput(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	r := local(t, "", "-n", "2", "--label=host", "echo", "x")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"[0@" + host + "] x", "[1@" + host + "] x"}, r.lines())
	r = local(t, "", "-n", "2", "--label=<%02r> ", "echo", "x")
	require.ElementsMatch(t, []string{"<00> x", "<01> x"}, r.lines())

	// A rank that fails hides nobody's output.
	r = local(t, "", "-n", "6", "--nodes", "2", "--fold", "--keep-going", "sh", "-c", "echo $((PMI_RANK % 2)); test $PMI_RANK != 5 || exit 3")
	require.Equal(t, 3, r.code)
	line := "----------------\n"
	require.Equal(t, line+"ranks 0,2,4 on "+host+".[0-1]\n"+line+"0\n"+line+"ranks 1,3,5 on "+host+".[0-1]\n"+line+"1\n", r.stdout)
}

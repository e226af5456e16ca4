package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPMGR has ranks do every operation of PMGR over the tree, and has them
// build a tree of their own, with short and long data, and with a spare node
// that has no rank.
func TestPMGR(t *testing.T) {
	c := theCluster(t)
	for _, x := range []struct {
		nodes, ranks, each, degree int
		more                       []string
		args                       []string
	}{
		{32, 512, 16, 4, nil, []string{"-n", "1", "-s", "16"}},
		{7, 19, 3, 2, nil, []string{"-s", "3000"}},
		{5, 8, 2, 2, []string{"--spares", "1"}, []string{"-n", "6"}},
	} {
		for _, trees := range []string{"0", "1"} {
			t.Run(fmt.Sprintf("%d ranks on %d nodes, trees %s", x.ranks, x.nodes, trees), func(t *testing.T) {
				args := append([]string{"-n", fmt.Sprint(x.ranks), "-N", fmt.Sprint(x.each), "--degree", fmt.Sprint(x.degree), "--pmgr", "-x", "MPIRUN_USE_TREES=" + trees}, x.more...)
				r := over(t, c, x.nodes, append(append(args, bin("pmgrclient")), x.args...)...)
				require.Zero(t, r.code, r.stderr)
				require.Empty(t, r.stderr)
				require.Len(t, r.lines(), x.ranks)
				require.Contains(t, r.lines(), fmt.Sprintf("rank %d of %d ok", x.ranks-1, x.ranks))
			})
		}
	}
	nothingLeft(t, c, firstNodes(c, 32)...)
}

// A rank's error is told with the rank and its deed, and ends the job.
func TestPMGRFailures(t *testing.T) {
	const culprit = `rank 3 on \S+ (\(pid \d+\) )?` // it may be faster than the word that it runs
	for fault, want := range map[string]struct {
		code    int
		message string
	}{
		"op":           {125, culprit + "broke the PMGR protocol: it calls an allgather of 4 bytes, but rank 0 a gather of 4 bytes to rank 0"},
		"root":         {125, "broke the PMGR protocol: it calls a gather of 4 bytes to rank "},
		"size":         {125, culprit + "broke the PMGR protocol: it calls a gather of 8 bytes to rank 0, but rank 0 a gather of 4 bytes to rank 0"},
		"version":      {125, culprit + "broke the PMGR protocol: version 5 of the protocol, .* version 8 is served"},
		"twice":        {125, culprit + "broke the PMGR protocol: a second check-in"},
		"vanish":       {125, culprit + "broke the PMGR protocol: it ended without CLOSE"},
		"hangup":       {125, culprit + "broke the PMGR protocol: it closed its connection without CLOSE"},
		"absent":       {125, culprit + "broke the PMGR protocol: it ended without a check-in, but rank 0 calls a barrier"},
		"abort:7":      {7, culprit + "called abort with code 7, PMGR: I give up"},
		"late-abort:9": {9, culprit + "called abort with code 9, PMGR: too late"},
		// LLNL's client calls CLOSE and hangs up first; the others are in an operation.
		"leave-abort:42":   {42, culprit + "called abort with code 42, PMGR: I leave"},
		"leave-abort:42,0": {42, culprit + "called abort with code 42, PMGR: I leave"},
	} {
		t.Run(fault, func(t *testing.T) {
			r := local(t, "", "-n", "4", "--nodes", "4", "--degree", "2", "--pmgr", bin("pmgrclient"), "-x", fault, "-r", "3")
			require.Equal(t, want.code, r.code, r.stderr)
			require.Regexp(t, want.message, r.stderr)
		})
	}
	for _, status := range []string{"", ",0"} {
		r := local(t, "", "-n", "2", "--nodes", "2", "--pmgr", "-x", "MPIRUN_USE_TREES=1", bin("pmgrclient"), "-x", "late-abort:9"+status, "-r", "1")
		require.Equal(t, 9, r.code, r.stderr)
		require.Contains(t, r.stderr, "called abort with code 9, PMGR: too late")
	}
	// On the node of ranks that are in an operation. It need not be seen whose the
	// connection was.
	for range 20 {
		r := local(t, "", "-n", "4", "--pmgr", bin("pmgrclient"), "-x", "leave-abort:42,0", "-r", "3")
		require.Equal(t, 42, r.code, r.stderr)
		require.Regexp(t, culprit+"called abort with code 42, PMGR: I leave", r.stderr)
	}
}

// A rank that aborts after all have called CLOSE, and then ends with status 0, does
// not do so in silence: the job fails where it can be seen whose connection that
// was, and the user is told where not.
func TestPMGRAbortBeforeStatus0(t *testing.T) {
	for range 20 {
		r := local(t, "", "-n", "2", "--pmgr", bin("pmgrclient"), "-x", "late-abort:9,0", "-r", "1")
		if r.code != 0 {
			require.Equal(t, 9, r.code, r.stderr)
			require.Contains(t, r.stderr, "called abort with code 9, PMGR: too late")
			continue
		}
		require.Contains(t, r.stderr, "rank 1 ended with status 0, but a connection to PMGR, closed before it could be seen whose it was, said that it aborts with code 9: too late")
	}
}

// PMI is there beside it, and programs that know neither run as ever.
func TestPMGRBesidePMI(t *testing.T) {
	r := local(t, "", "-n", "4", "--nodes", "2", "--pmgr", "sh", "-c", bin("pmgrclient")+" && "+bin("pmiclient")+" -q")
	require.Zero(t, r.code, r.stderr)
	require.Len(t, r.lines(), 4)
	r = local(t, "", "-n", "3", "--nodes", "2", "--pmgr", "true")
	require.Zero(t, r.code, r.stderr)
	r = local(t, "", "-n", "1", "--pmgr", "sh", "-c", "echo $MPIRUN_RANK $MPIRUN_NPROCS $MPIRUN_HOST $MPIRUN_USE_TREES $MPIRUN_SHM_ENABLE")
	require.Equal(t, "0 1 127.0.0.1 0 0\n", r.stdout)
	r = local(t, "", "-n", "1", "sh", "-c", "env | grep -c ^MPIRUN_")
	require.Equal(t, "0\n", r.stdout, "without --pmgr there is nothing of it")
}

// asAnother skips the test where it cannot act as another user.
func asAnother(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can act as another user")
	}
}

// strangers is a shell of another user.
func strangers(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	return cmd
}

// Nobody else may connect to the port.
func TestPMGRIsOurs(t *testing.T) {
	asAnother(t)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin("golaunch"), "-n", "2", "--stdin", "all", "--pmgr", "sh", "-c", "echo $MPIRUN_PORT; read go; "+bin("pmgrclient"))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errs strings.Builder
	cmd.Stderr = &errs
	begin(t, cmd, cmd)
	out := bufio.NewScanner(stdout)
	require.True(t, out.Scan())
	stranger := strangers(ctx, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%s && echo connected; cat <&3", out.Text()))
	reply, _ := stranger.Output() // reset, or at end of file
	require.Equal(t, "connected\n", string(reply))
	_, err = io.WriteString(stdin, "go\n")
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	var lines []string
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	require.NoError(t, cmd.Wait(), errs.String())
	require.Subset(t, lines, []string{"rank 0 of 2 ok", "rank 1 of 2 ok"})
	require.Contains(t, errs.String(), "a connection to PMGR was refused: it is of user 65534")
}

// More connections of others at once than an agent has descriptors do a job no
// harm.
func TestPMGRUnderAFlood(t *testing.T) {
	asAnother(t)
	const descriptors, connections = 150, 400
	script := "echo port $MPIRUN_PORT; read go; exec " + bin("pmgrclient")
	cmd := exec.Command("sh", "-c", fmt.Sprintf("ulimit -n %d; exec %s -n 2 --pmgr --lost-after 1h --stdin all sh -c '%s'", descriptors, bin("golaunch"), script))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errs strings.Builder
	cmd.Stderr = &errs
	begin(t, cmd, cmd)
	out := bufio.NewReader(stdout)
	port := ""
	for range 2 {
		_, err := fmt.Fscanf(out, "port %s\n", &port)
		require.NoError(t, err)
	}
	children, err := exec.Command("pgrep", "-P", fmt.Sprint(cmd.Process.Pid)).Output()
	require.NoError(t, err)
	agent, err := strconv.Atoi(strings.TrimSpace(string(children)))
	require.NoError(t, err)

	// They wait until the agent sees all of them.
	require.NoError(t, syscall.Kill(agent, syscall.SIGSTOP))
	crowd := strangers(t.Context(), fmt.Sprintf("for i in $(seq %d); do exec {fd}<>/dev/tcp/127.0.0.1/%s || exit; done; echo connected; cat", connections, port))
	open, err := crowd.StdinPipe()
	require.NoError(t, err)
	connected, err := crowd.StdoutPipe()
	require.NoError(t, err)
	begin(t, crowd, crowd)
	defer crowd.Wait()
	defer open.Close()
	_, err = io.ReadFull(connected, make([]byte, len("connected\n")))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(agent, syscall.SIGCONT))
	_, err = io.WriteString(stdin, "go\n")
	require.NoError(t, err)
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), errs.String())
	require.Contains(t, string(text), "rank 0 of 2 ok")
	require.Contains(t, errs.String(), " connections to PMGR were refused, of each: it is of user 65534")
}

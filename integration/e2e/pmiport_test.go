package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Clients of all kinds find PMI at a port instead of a descriptor.
func TestPMIPort(t *testing.T) {
	for client, packages := range map[string]string{
		"pmiclient": "gcc", "pmivalues": "gcc", "pmivalues.mpich": "libmpich-dev", "mpihello": "libmpich-dev", "pmi2client": "libpmi2-0-dev",
	} {
		t.Run(client, func(t *testing.T) {
			needBuilt(t, client, packages)
			r := local(t, "", "-n", "6", "--nodes", "3", "--pmi-port", bin(client))
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, r.stderr)
			require.Len(t, r.lines(), 6)
			require.Contains(t, r.stdout, "rank 5 of 6")
		})
	}
	r := local(t, "", "-n", "1", "--pmi-port", "sh", "-c", "echo ${PMI_FD-none} ${PMI_PORT%:*} $PMI_ID $PMI_RANK $PMI_SIZE")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "none 127.0.0.1 0 0 1\n", r.stdout)
}

// Every node has a port of its own, which only its own ranks can reach.
func TestPMIPortOverTheNetwork(t *testing.T) {
	c := theCluster(t)
	r := over(t, c, 6, "-n", "24", "-N", "4", "--degree", "2", "--copy-agent", "--pmi-port", bin("pmiclient"), "-m", "all")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.Len(t, r.lines(), 24)
	nothingLeft(t, c, firstNodes(c, 6)...)
}

// A rank's error at a port is told as at a descriptor.
func TestPMIPortFailures(t *testing.T) {
	for fault, want := range map[string]struct {
		code    int
		message string
	}{
		"abort:7":    {7, "rank 1 on .* called abort with code 7"},
		"nofinalize": {1, "rank 1 on .* exited with code 0 but without MPI_Finalize"},
		"garbage":    {125, "rank 1 on .* broke the PMI protocol"},
		"kill:9":     {137, "rank 1 on .* was killed by signal 9"},
	} {
		r := local(t, "", "-n", "3", "--pmi-port", bin("pmiclient"), "-x", fault, "-r", "1")
		require.Equal(t, want.code, r.code, r.stderr)
		require.Regexp(t, want.message, r.stderr)
	}
}

// Nobody else may connect to the port of a job that runs.
func TestPMIPortIsOurs(t *testing.T) {
	asAnother(t)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin("golaunch"), "-n", "2", "-v", "-v", "--stdin", "all", "--pmi-port", "sh", "-c",
		"echo $PMI_PORT; read go; "+bin("pmiclient")+"; read end || true")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errs strings.Builder
	cmd.Stderr = &errs
	begin(t, cmd, cmd)
	out := bufio.NewScanner(stdout)
	line := func() string {
		require.True(t, out.Scan(), "golaunch has ended: %s", &errs)
		return out.Text()
	}
	port := line()
	require.Equal(t, port, line())

	// Another user is cut off before a word is said.
	host, number, err := net.SplitHostPort(port)
	require.NoError(t, err)
	stranger := strangers(ctx,
		fmt.Sprintf("exec 3<>/dev/tcp/%s/%s && echo connected && echo cmd=initack pmiid=0 >&3; cat <&3", host, number))
	reply, _ := stranger.Output() // reset by golaunch, or at end of file
	require.Equal(t, "connected\n", string(reply))

	// We are not, but there is no such rank, or we do not say which.
	for request, answer := range map[string]string{
		"cmd=initack pmiid=2\n":                     "cmd=initack rc=-1\n",
		"cmd=init pmi_version=1 pmi_subversion=1\n": "cmd=initack rc=-1\n",
	} {
		c, err := net.Dial("tcp", port)
		require.NoError(t, err)
		_, err = io.WriteString(c, request)
		require.NoError(t, err)
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, answer, string(got))
		require.NoError(t, c.Close())
	}

	// The ranks are unharmed. Once all have called nobody else can.
	_, err = io.WriteString(stdin, "go\n")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"rank 0 of 2 ok", "rank 1 of 2 ok"}, []string{line(), line()})
	_, err = net.Dial("tcp", port)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, stdin.Close())
	require.False(t, out.Scan())
	require.NoError(t, cmd.Wait(), errs.String())
	require.Contains(t, errs.String(), "a connection to PMI_PORT was refused: it is of user 65534")
	require.Contains(t, errs.String(), "a connection to PMI_PORT was refused: pmiid 2 is not on this node")
	require.Contains(t, errs.String(), `a connection to PMI_PORT was refused: it began "cmd=init pmi_version=1 pmi_subversion=1", not with initack`)
}

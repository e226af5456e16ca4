package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// meeting is a program as those of machine learning are: all ranks call rank 0, which
// tells when it has heard of all. Before its third attempt it does not end.
const meeting = `
import os, socket
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
attempt = os.environ["GOLAUNCH_RESTART"]
assert attempt == os.environ["TORCHELASTIC_RESTART_COUNT"]
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
name = socket.gethostname()
if rank == 0:
    with socket.create_server(("", at[1])) as s:
        calls = [s.accept()[0] for _ in range(size - 1)]
        print(attempt, *sorted([name] + [c.makefile().readline().strip() for c in calls]), flush=True)
        if attempt != "2":
            calls[0].recv(1)
else:
    while True:
        try:
            s = socket.create_connection(at)
            break
        except ConnectionRefusedError:
            pass
    s.sendall((name + "\n").encode())
    s.recv(1)
`

// A job that loses a node, and then another, starts again on spares.
func TestAJobStartsAgainOnSpares(t *testing.T) {
	c := theCluster(t)
	cmd := c.Command(cluster.Head, bin("golaunch"), "-H", hostsArg(6), "--ssh-config", c.SSHConfig(), "-n", "4", "-N", "1", "--spares", "2", "--restarts", "3",
		"python3", "-c", meeting)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	begin(t, cmd, cmd.Cmd)
	out := bufio.NewReader(pipe)
	hear := func(want string) {
		t.Helper()
		line, err := out.ReadString('\n')
		require.NoError(t, err, stderr.String())
		require.Equal(t, want+"\n", line)
	}
	hear("0 n001 n002 n003 n004")
	kill(t, c, "n003", "nla-agent")
	hear("1 n001 n002 n004 n005")
	kill(t, c, "n001", "nla-agent")
	hear("2 n002 n004 n005 n006")
	require.NoError(t, cmd.Wait(), stderr.String())
	require.Contains(t, stderr.String(), "golaunch: restart 1 of 3, without n003\ngolaunch: host n005 takes the place of n003\n")
	require.Contains(t, stderr.String(), "golaunch: restart 2 of 3, without n001\ngolaunch: host n006 takes the place of n001\n")
	nothingLeft(t, c, firstNodes(c, 6)...)
}

// Of hosts beyond --nodes and the spares one takes over where too few are left, also
// where a spare is found dead only when it is needed.
func TestHostsBeyondNodesTakeOver(t *testing.T) {
	c := ownCluster(t, 5)
	cmd := c.Command(cluster.Head, bin("golaunch"), "-H", hostsArg(5), "--ssh-config", c.SSHConfig(), "--nodes", "2", "--spares", "1", "-N", "1", "--restarts", "2",
		"sh", "-c", "hostname; test $GOLAUNCH_RESTART != 0 && test $(hostname) != n003 || exec sleep 1000")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	begin(t, cmd, cmd.Cmd)
	out := bufio.NewScanner(pipe)
	var heard []string
	for len(heard) < 2 {
		require.True(t, out.Scan(), stderr.String())
		heard = append(heard, out.Text())
	}
	require.ElementsMatch(t, []string{"n001", "n002"}, heard)
	require.NoError(t, c.Kill("n002"))
	require.NoError(t, c.Kill("n003")) // a busy machine may be late with that: an attempt with n003 does not end before
	for out.Scan() {
		heard = append(heard, out.Text())
	}
	require.NoError(t, cmd.Wait(), stderr.String())
	require.ElementsMatch(t, []string{"n001", "n004"}, heard[len(heard)-2:])
	require.Contains(t, stderr.String(), "golaunch: host n004 takes the place of n00")
}

// A spare that is lost ends nothing, and is no spare any more.
func TestASpareIsLost(t *testing.T) {
	c := ownCluster(t, 5)
	cmd := c.Command(cluster.Head, bin("golaunch"), "-H", hostsArg(5), "--ssh-config", c.SSHConfig(), "--degree", "2", "--nodes", "3", "--spares", "2", "-N", "1",
		"sh", "-c", "echo up; test $RANK != 0 || read line; exec "+bin("mpihello"))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	begin(t, cmd, cmd.Cmd)
	out, messages := bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	for range 3 {
		require.True(t, out.Scan())
		require.Equal(t, "up", out.Text())
	}
	for _, spare := range []string{"n005", "n004"} {
		require.NoError(t, c.Kill(spare))
		require.True(t, messages.Scan())
		require.Equal(t, "golaunch: host "+spare+", without ranks, lost: the job goes on", messages.Text())
	}
	_, err = io.WriteString(stdin, "go\n")
	require.NoError(t, err)
	for range 3 {
		require.True(t, out.Scan())
		require.Contains(t, out.Text(), " of 3 on n00")
	}
	require.False(t, messages.Scan(), messages.Text())
	require.NoError(t, cmd.Wait())
	nothingLeft(t, c, firstNodes(c, 3)...)
}

// Without spares the ranks of a lost node go to those that are left; where these have no
// room for them, the job ends as the attempt did.
func TestAJobStartsAgainWithoutSpares(t *testing.T) {
	c := theCluster(t)
	const dies = `test $GOLAUNCH_RESTART = 0 || exit 0; test $RANK != 2 || kill -9 $(cat /proc/$PPID/stat | cut -d" " -f4); exec sleep 60`
	flags := []string{"--ssh-config", c.SSHConfig(), "-n", "4", "--restarts", "1"}
	r := onNode(t, c, cluster.Head, append(flags, "-H", "n001,n002", "sh", "-c", dies)...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "golaunch: restart 1 of 1, without n002\ngolaunch: host n001 holds more ranks without n002\n")

	r = onNode(t, c, cluster.Head, append(flags, "-H", "n001:2,n002:2", "sh", "-c", dies)...)
	require.Equal(t, 125, r.code, r.stderr)
	require.Contains(t, r.stderr, "golaunch: no restart: not enough slots: 4 ranks, 2 slots on 1 host")
	nothingLeft(t, c, firstNodes(c, 2)...)
}

// A job that fails as often as it may fails as its last attempt does. Its logs are a
// file per rank and attempt, and the end of the failed rank's is shown.
func TestLogsOfAttempts(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "100%r")
	r := local(t, "", "-n", "2", "--restarts", "1", "--log-dir", logs, "sh", "-c", "echo out $GOLAUNCH_RESTART; test $RANK = 0 || { seq 20 >&2; exit 7; }; exec sleep 60")
	require.Equal(t, 7, r.code)
	require.Empty(t, r.stdout)
	require.Contains(t, r.stderr, "attempt-1/1.err:\ngolaunch: 11\n")
	require.NotContains(t, r.stderr, "golaunch: 10\n")
	for file, want := range map[string]string{"attempt-0/1.out": "out 0\n", "attempt-1/1.out": "out 1\n"} {
		text, err := os.ReadFile(filepath.Join(logs, file))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	kept := filepath.Join(logs, "attempt-1", "notes")
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	r = local(t, "", "-n", "1", "--log-dir", logs, "echo", "again")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "--log-dir: 8 files of an earlier job removed from "+logs)
	found, err := filepath.Glob(filepath.Join(filepath.Dir(logs), "*", "*", "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(logs, "attempt-0", "0.err"), filepath.Join(logs, "attempt-0", "0.out"), kept}, found)
	all := filepath.Join(t.TempDir(), "all")
	r = local(t, "", "-n", "1", "--restarts", "1", "-o", all, "sh", "-c", "echo $GOLAUNCH_RESTART; exit 3")
	require.Equal(t, 3, r.code)
	text, err := os.ReadFile(all)
	require.NoError(t, err)
	require.Equal(t, "0\n1\n", string(text), "what attempts write is kept")
	r = local(t, "", "-n", "1", "--restarts", "1", all+".none")
	require.NotContains(t, r.stderr, "restart", "a program that is not there is not there again")
}

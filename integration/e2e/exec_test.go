package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// viaSSH is the system's ssh as exec's command, for use on the head.
func viaSSH(c *cluster.Cluster) []string {
	return []string{"--bootstrap", "exec", "--exec-command", "ssh -F " + c.SSHConfig() + " {host} {command}"}
}

// checkClients asserts that n ranks of pmiclient said that all went well.
func checkClients(t *testing.T, r result, n int) {
	t.Helper()
	require.Zero(t, r.code, r.stderr)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("[%d] rank %d of %d ok", i, i, n))
	}
	require.ElementsMatch(t, want, r.lines())
}

func TestExecSSH(t *testing.T) {
	c := theCluster(t)
	args := append(viaSSH(c), "-H", hostsArg(32), "-n", "64", "--copy-agent", "-l")
	checkClients(t, onNode(t, c, cluster.Head, append(args, bin("pmiclient"))...), 64)
	nothingLeft(t, c, append(firstNodes(c, 32), cluster.Head)...)

	r := onNode(t, c, cluster.Head, append(args, "sh", "-c", "hostname; ls -A ~/.ssh 2>/dev/null | grep -v known_hosts | grep -v authorized_keys; true")...)
	require.Zero(t, r.code, r.stderr)
	require.Len(t, r.lines(), 64, "no private key on a node: %s", r.stdout)
	for i := range 64 {
		require.Contains(t, r.lines(), fmt.Sprintf("[%d] n%03d", i, i/2+1), "no rank on a relay")
	}
}

// viaNsenter enters nodes, which have the numbers of their first processes for
// names.
func viaNsenter(nodes []cluster.Node) []string {
	var pids []string
	for _, n := range nodes {
		pids = append(pids, fmt.Sprint(n.Init.PID))
	}
	return []string{"--bootstrap", "exec", "--exec-command", "nsenter --target {host} --mount --uts --ipc --net --pid {command}", "-H", strings.Join(pids, ",")}
}

func TestExecNsenter(t *testing.T) {
	c := theCluster(t)
	args := append(viaNsenter(c.Nodes()[:32]), "-n", "64", "--copy-agent", "-l")
	checkClients(t, local(t, "", append(args, bin("pmiclient"))...), 64)
	r := local(t, "", append(args, "hostname")...)
	require.Zero(t, r.code, r.stderr)
	for i := range 64 {
		require.Contains(t, r.lines(), fmt.Sprintf("[%d] n%03d", i, i/2+1))
	}
	nothingLeft(t, c, firstNodes(c, 32)...)
}

// TestExecMPI checks that ranks are told addresses at which others reach them,
// though golaunch knows none of the nodes'.
func TestExecMPI(t *testing.T) {
	needMPI(t)
	c := theCluster(t)
	args := append(viaNsenter(c.Nodes()[:9]), "-n", "9", "-l", "-x", "LD_PRELOAD="+bin("libmpichfinalize.so"), bin("mpisum"))
	r := local(t, "", args...)
	require.Zero(t, r.code, r.stderr)
	for i := range 9 {
		require.Contains(t, r.stdout, fmt.Sprintf("[%d] rank %d of 9 on n%03d: sum 45 ok\n", i, i, i+1))
	}
	nothingLeft(t, c, firstNodes(c, 9)...)
}

func TestExecDocker(t *testing.T) {
	if err := cluster.DockerUnavailable(); err != nil {
		t.Skipf("skipped: no container engine here: %v", err)
	}
	const n = 4
	dir, err := os.MkdirTemp(built, "cluster-")
	require.NoError(t, err)
	c, err := cluster.Up(t.Context(), cluster.Config{Dir: filepath.Join(dir, "c"), Nodes: n, Provider: cluster.Docker})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Down(t.Context())) })
	args := []string{"--bootstrap", "exec", "--exec-command", "docker exec -i " + c.Container("{host}") + " {command}",
		"-H", hostsArg(n), "-n", fmt.Sprint(2 * n), "--copy-agent", "-l"}
	checkClients(t, local(t, "", append(args, bin("pmiclient"))...), 2*n)
	nothingLeft(t, c, firstNodes(c, n)...)
}

// TestExecFromNodes has every agent run the command, here to the same machine.
func TestExecFromNodes(t *testing.T) {
	r := local(t, "", "--bootstrap", "exec", "--exec-command", "env {command}", "--exec-from=nodes",
		"-H", "x[1-16]", "--degree", "2", "-n", "32", "-l", bin("pmiclient"))
	checkClients(t, r, 32)
}

// TestExecFailures checks that what the command says, and how it ends, reaches
// the user.
func TestExecFailures(t *testing.T) {
	c := theCluster(t)
	with := func(command string) result {
		return onNode(t, c, cluster.Head, "--bootstrap", "exec", "--exec-command", command, "-H", "n001,nowhere,n002", "-n", "3", "hostname")
	}
	ssh := "ssh -F " + c.SSHConfig()
	for _, x := range []struct {
		command string
		says    []string
	}{
		{"no-such-program {host} {command}", []string{
			"3 of 3 hosts", "host n001: run command: no-such-program cannot be run: executable file not found in $PATH (is the program"}},
		{ssh + " {host} {command}", []string{
			"1 of 3 hosts", "host nowhere: run command: ssh ended before the agent spoke (exit status 255): ssh: Could not resolve hostname nowhere",
			"(try " + ssh + " nowhere true)"}},
		{"nsenter --target 1 --mount=/no/such {command}", []string{
			"3 of 3 hosts", "host n002: run command: nsenter ended before the agent spoke (exit status 1): nsenter: "}},
		{ssh + " {host} /no/such/shell {command}", []string{"host n001: run command: ssh ended before the agent spoke (exit status 127): "}},
	} {
		r := with(x.command)
		require.Equal(t, 125, r.code, r.stderr)
		require.Empty(t, r.stdout)
		for _, text := range x.says {
			require.Contains(t, r.stderr, text)
		}
	}
	r := onNode(t, c, cluster.Head, append(viaSSH(c), "--allow-dead-nodes", "-H", "n001,nowhere,n002", "-n", "3", "hostname")...)
	require.Zero(t, r.code, r.stderr)
	names := r.lines()
	slices.Sort(names)
	require.Equal(t, firstNodes(c, 2), slices.Compact(names))
}

// TestRelayIsLost kills relays: the message names them, and nothing is left.
func TestRelayIsLost(t *testing.T) {
	const n = 7
	c := ownCluster(t, n)
	places := append(firstNodes(c, n), cluster.Head)
	for _, x := range []struct {
		relay string
		pick  func(agents []cluster.Proc) cluster.Proc
	}{
		// The root relay is the parent of others; golaunch is its.
		{"head.relay0", func(a []cluster.Proc) cluster.Proc {
			return a[slices.IndexFunc(a, func(p cluster.Proc) bool { return !hasParent(p, a) })]
		}},
		{`head.relay[1-9]`, func(a []cluster.Proc) cluster.Proc {
			return a[slices.IndexFunc(a, func(p cluster.Proc) bool { return hasParent(p, a) })]
		}},
	} {
		t.Run(x.relay, func(t *testing.T) {
			r := sleepers(t, c, n, viaSSH(c)...)
			procs, err := c.Processes(cluster.Head)
			require.NoError(t, err)
			relays := slices.DeleteFunc(procs, func(p cluster.Proc) bool { return !slices.Contains(p.Cmdline, "nla-agent") })
			require.Len(t, relays, 6, "two children each, at most, for seven hosts")
			require.NoError(t, x.pick(relays).Signal(syscall.SIGKILL))
			require.Equal(t, 125, r.wait(t), r.stderr.String())
			require.Regexp(t, regexp.MustCompile("host "+x.relay+": running: link to its agent lost"), r.stderr.String())
			nothingLeft(t, c, places...)
		})
	}
}

func hasParent(p cluster.Proc, among []cluster.Proc) bool {
	return slices.ContainsFunc(among, func(q cluster.Proc) bool { return q.PID == p.PPID })
}

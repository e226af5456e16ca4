package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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

	// Many relays share one machine: their hosts must not look dead for want
	// of processor time.
	r = local(t, "", append(viaNsenter(c.Nodes()), "-n", fmt.Sprint(nodes), "hostname")...)
	require.Zero(t, r.code, r.stderr)
	names := r.lines()
	slices.Sort(names)
	require.Equal(t, firstNodes(c, nodes), names)
	nothingLeft(t, c, firstNodes(c, nodes)...)
}

// TestExecMPI checks that ranks are told addresses at which others reach them,
// though golaunch knows none of the nodes'.
func TestExecMPI(t *testing.T) {
	needMPI(t)
	c := theCluster(t)
	args := append(viaNsenter(c.Nodes()[:9]), "-n", "9", "-l", bin("mpisum"))
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
	c, err := cluster.Up(t.Context(), cluster.Config{Dir: filepath.Join(dir, "c"), Nodes: n, Provider: cluster.Docker, Share: []string{built}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Down(context.Background())) })
	args := []string{"--bootstrap", "exec", "--exec-command", "docker exec -i " + c.Container("{host}") + " {command}",
		"-H", hostsArg(n), "--copy-agent", "-l"}
	checkClients(t, local(t, "", append(args, "-n", fmt.Sprint(2*n), bin("pmiclient"))...), 2*n)
	nothingLeft(t, c, firstNodes(c, n)...)

	needMPI(t)
	r := local(t, "", append(args, "-n", fmt.Sprint(n), bin("mpisum"))...)
	require.Zero(t, r.code, r.stderr)
	for i := range n {
		require.Contains(t, r.stdout, fmt.Sprintf("[%d] rank %d of %d on n%03d: sum 10 ok\n", i, i, n, i+1))
	}
}

// TestExecFromNodes has every agent run the command, here to the same machine.
func TestExecFromNodes(t *testing.T) {
	r := local(t, "", "--bootstrap", "exec", "--exec-command", "env {command}", "--exec-from=nodes",
		"-H", "x[1-16]", "--degree", "2", "-n", "32", "-l", bin("pmiclient"))
	checkClients(t, r, 32)
}

// TestExecInput has standard input and an exit code pass through relays.
func TestExecInput(t *testing.T) {
	via := []string{"--bootstrap", "exec", "--exec-command", "env {command}", "-H", "x[1-9]", "--degree", "3", "-n", "9", "-l"}
	r := local(t, "one\ntwo\n", append(via, "-i", "all", "cat")...)
	require.Zero(t, r.code, r.stderr)
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprintf("[%d] one", i), fmt.Sprintf("[%d] two", i))
	}
	require.ElementsMatch(t, want, r.lines())
	r = local(t, "three\n", append(via, "-i", "8", "sh", "-c", "cat; [ $RANK != 8 ] || exit 7")...)
	require.Equal(t, 7, r.code, r.stderr)
	require.Equal(t, "[8] three\n", r.stdout)
	require.Contains(t, r.stderr, "rank 8 on x9")
}

// TestExecFailures checks that what the command says, and how it ends, reaches
// the user.
func TestExecFailures(t *testing.T) {
	t.Parallel()
	c := theCluster(t)
	with := func(timeout, command string) result {
		return onNode(t, c, cluster.Head, "--connect-timeout", timeout, "--bootstrap", "exec", "--exec-command", command, "-H", "n001,nowhere,n002", "-n", "3", "hostname")
	}
	const soon, late = "2s", "10s" // the latter where a busy machine has to come to some hosts
	ssh := "ssh -F " + c.SSHConfig()
	for _, x := range []struct {
		timeout, command string
		messages         []string
	}{
		{soon, "no-such-program {host} {command}", []string{
			"3 of 3 hosts", "hosts n001,nowhere,n002: run command: no-such-program cannot be run: executable file not found in $PATH (is it installed"}},
		{late, ssh + " {host} {command}", []string{
			"1 of 3 hosts", "host nowhere: run command: ssh ended before the agent spoke (exit status 255): ssh: Could not resolve hostname nowhere",
			"(try " + ssh + " nowhere true)"}},
		{soon, "nsenter --target 1 --mount=/no/such {command}", []string{
			"3 of 3 hosts", "hosts n001,nowhere,n002: run command: nsenter ended before the agent spoke (exit status 1): nsenter: "}},
		{late, ssh + " {host} /no/such/shell {command}", []string{"hosts n[001-002]: run command: ssh ended before the agent spoke (exit status 127): "}},
	} {
		r := with(x.timeout, x.command)
		require.Equal(t, 125, r.code, r.stderr)
		require.Empty(t, r.stdout)
		for _, text := range x.messages {
			require.Contains(t, r.stderr, text)
		}
	}
	r := onNode(t, c, cluster.Head, append(viaSSH(c), "--allow-dead-nodes", "-H", "n001,nowhere,n002", "-n", "3", "hostname")...)
	require.Zero(t, r.code, r.stderr)
	names := r.lines()
	slices.Sort(names)
	require.Equal(t, firstNodes(c, 2), slices.Compact(names))
}

// TestExecKill kills relays and what they run: the message names them, and
// nothing is left.
func TestExecKill(t *testing.T) {
	t.Parallel()
	const n = 7
	c := ownCluster(t, n)
	places := append(firstNodes(c, n), cluster.Head)
	for _, x := range []struct {
		name    string
		code    int
		message string
		pick    func(procs []cluster.Proc) cluster.Proc
	}{
		{"root relay", 125, "host head.relay0: lost: the link to its agent broke", func(procs []cluster.Proc) cluster.Proc {
			relays := agents(procs)
			return find(t, relays, func(p cluster.Proc) bool { return !hasParent(p, relays) })
		}},
		{"relay", 125, "host head.relay[1-5]: lost: the link to its agent broke", func(procs []cluster.Proc) cluster.Proc {
			relays := agents(procs)
			require.Len(t, relays, 6, "at most two children each, for seven hosts")
			return find(t, relays, func(p cluster.Proc) bool { return hasParent(p, relays) })
		}},
		{"ssh", 125, `host n003 \(ranks? [0-9-]+\): lost: the link to its agent broke`, func(procs []cluster.Proc) cluster.Proc {
			return find(t, procs, func(p cluster.Proc) bool { return slices.Contains(p.Cmdline, "n003") && p.Cmdline[0] == "ssh" })
		}},
		{"golaunch", -1, "", func(procs []cluster.Proc) cluster.Proc {
			return find(t, procs, func(p cluster.Proc) bool { return slices.Contains(p.Cmdline, "--exec-command") })
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := sleepers(t, c, n, viaSSH(c)...)
			procs, err := c.Processes(cluster.Head)
			require.NoError(t, err)
			require.NoError(t, x.pick(procs).Signal(syscall.SIGKILL))
			require.Equal(t, x.code, r.wait(t), r.stderr.String())
			require.Regexp(t, x.message, r.stderr.String())
			nothingLeft(t, c, places...)
		})
	}
}

// TestExecKillAtStart kills a relay while it waits for its hosts.
func TestExecKillAtStart(t *testing.T) {
	t.Parallel()
	const n = 7
	c := ownCluster(t, n)
	for _, x := range []struct{ name, message string }{
		{"root relay", `1 of 6 relays on this machine failed:\n.*  host head.relay0: agent hello: (?s).*nothing was run: golaunch does not reach the hosts without its relays`},
		{"relay", `host head.relay[1-5]: starting: lost: the link to its agent broke: `},
	} {
		t.Run(x.name, func(t *testing.T) {
			// A wait for the silent hosts would take longer than this test.
			r := &running{cmd: c.Command(cluster.Head, bin("golaunch"), "--bootstrap", "exec", "--exec-command", "sh -c 'sleep 1000; true' {command}",
				"-H", hostsArg(n), "--degree", "2", "--connect-timeout", "1h", "--allow-dead-nodes", "hostname")}
			r.cmd.Stderr = &r.stderr
			begin(t, r.cmd, r.cmd.Cmd)
			var relays []cluster.Proc
			require.Eventually(t, func() bool {
				procs, err := c.Processes(cluster.Head)
				require.NoError(t, err)
				relays = agents(procs)
				asleep := 0
				for _, p := range procs {
					if slices.Equal(p.Cmdline, []string{"sleep", "1000"}) {
						asleep++
					}
				}
				return len(relays) == 6 && asleep == n // so that no relay is about to execute a command any more
			}, limit, 10*time.Millisecond)
			victim := find(t, relays, func(p cluster.Proc) bool { return hasParent(p, relays) == (x.name == "relay") })
			require.NoError(t, victim.Signal(syscall.SIGKILL))
			require.Equal(t, 125, r.wait(t), r.stderr.String())
			require.Regexp(t, x.message, r.stderr.String())
			nothingLeft(t, c, cluster.Head)
		})
	}
}

// agents are the relays among the processes of the head.
func agents(procs []cluster.Proc) []cluster.Proc {
	return slices.DeleteFunc(slices.Clone(procs), func(p cluster.Proc) bool {
		return !slices.Contains(p.Cmdline, "nla-agent") || filepath.Base(p.Cmdline[0]) != "golaunch"
	})
}

func find(t *testing.T, procs []cluster.Proc, match func(cluster.Proc) bool) cluster.Proc {
	t.Helper()
	i := slices.IndexFunc(procs, match)
	require.GreaterOrEqual(t, i, 0, "not among %v", procs)
	return procs[i]
}

func hasParent(p cluster.Proc, among []cluster.Proc) bool {
	return slices.ContainsFunc(among, func(q cluster.Proc) bool { return q.PID == p.PPID })
}

// Whoever mistypes a container's name is told what is waited for, by relays as well.
func TestContainerThatDoesNotExist(t *testing.T) {
	t.Parallel()
	engine := filepath.Join(t.TempDir(), "engine")
	require.NoError(t, os.WriteFile(engine, []byte("#!/bin/sh\necho \"Error response from daemon: No such container: $1\" >&2\nexit 1\n"), 0o755))
	for hosts, relays := range map[string]bool{"nosuch1": false, "nosuch[1-3]": true} {
		args := []string{"--bootstrap", "exec", "--exec-command", engine + " {host} {command}", "--connect-timeout", "10s", "--degree", "2", "-H", hosts, "true"}
		require.Equal(t, relays, strings.Contains(local(t, "", append([]string{"--dry-run"}, args...)...).stdout, "relay"))
		r := local(t, "", args...)
		require.Equal(t, 125, r.code)
		require.Regexp(t, `(?m)^golaunch: hosts? nosuch.*1.*: there is no such container yet: waiting up to 10s for it \(--connect-timeout\)$`, r.stderr)
		require.Contains(t, r.stderr, "No such container: ")
	}
}

// An engine's final refusal ends the job at once, in the engine's words; reasons to try
// again are told during the tries.
func TestWhatAnEngineRefuses(t *testing.T) {
	t.Parallel()
	engine := filepath.Join(t.TempDir(), "kubectl")
	const forbidden = `Error from server (Forbidden): pods "c1" is forbidden: User "x" cannot create resource "pods/exec"`
	const unreachable = "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?"
	for reason, x := range map[string]struct{ timeout, waits string }{
		forbidden: {"2m", ""},
		"error: cannot exec into a container in a completed pod; current phase is Succeeded": {"2m", ""},
		unreachable: {"4s", "golaunch: host c1: " + unreachable + ": waiting up to 4s for it (--connect-timeout)\n"},
	} {
		require.NoError(t, os.WriteFile(engine, []byte("#!/bin/sh\necho '"+reason+"' >&2\nexit 1\n"), 0o755))
		r := local(t, "", "--bootstrap", "exec", "--exec-command", engine+" exec -i {host} -- {command}", "--connect-timeout", x.timeout, "-H", "c1", "true")
		require.Equal(t, 125, r.code)
		require.Contains(t, r.stderr, "host c1: run command: kubectl ended before the agent spoke (exit status 1): "+reason)
		require.Contains(t, r.stderr, x.waits)
		require.Equal(t, x.waits != "", strings.Contains(r.stderr, "waiting"), r.stderr)
		require.Less(t, r.took, time.Minute)
	}
}

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// TestNodesEnvironment starts ranks from an account that the nodes do not have.
func TestNodesEnvironment(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 2)
	const show = `cd; echo "$PWD $USER ${TMPDIR-none} $WITH"; command -v env >/dev/null || echo no PATH`
	run := func(script string, args ...string) result {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		words := []string{"env", "HOME=/Users/joe", "USER=joe", "LOGNAME=joe", "TMPDIR=/job/7", "PATH=/opt/joe", "WITH=me",
			bin("golaunch"), "-v", "-H", hostsArg(2), "--ssh-config", c.SSHConfig(), "--wdir", "/"}
		cmd := c.CommandContext(ctx, cluster.Head, append(append(words, args...), "sh", "-c", script)...)
		return finish(t, cmd, cmd.Cmd, "")
	}
	home := c.Home("n001")
	r := run(show)
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{home + " root none me", c.Home("n002") + " root none me"}, r.lines())
	require.Contains(t, r.stderr, "the user is root, not joe: HOME and what belongs to it are this host's (--env-from)")

	r = run(show, "--env-from", "node")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.lines(), home+" root none ")

	r = run(show, "--genv", "TMPDIR=/job/8", "-x", "USER=ann")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.lines(), home+" ann /job/8 me")

	r = run("true", "--env-from", "launcher")
	require.Equal(t, 127, r.code, "no sh in /opt/joe: %s", r.stderr)
}

// Functions that bash exports, such as those of environment modules, are the ranks' too.
//
//report:env envmodules/modules#109, horovod/horovod#1002 exported functions of bash
func TestExportedFunctions(t *testing.T) {
	needShell(t, "bash")
	c := theCluster(t)
	line := "greet() {\necho hello $1\necho from $RANK\n}\nexport -f greet\n" +
		"exec " + bin("golaunch") + " -H " + hostsArg(2) + " --ssh-config " + c.SSHConfig() + " -n 2 bash -c 'greet you'"
	cmd := c.Command(cluster.Head, "bash", "-c", line)
	r := finish(t, cmd, cmd.Cmd, "")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.ElementsMatch(t, []string{"hello you", "from 0", "hello you", "from 1"}, r.lines())
}

// Ranks on other hosts have the soft limits of the shell that golaunch runs in: of the
// stack, core files, open files and memory.
//
//report:env flux-framework/flux-core#4743, clustervision/trinityX#136 limits of ranks on other hosts
func TestLimitsReachTheNodes(t *testing.T) {
	c := theCluster(t)
	const show = "ulimit -s; ulimit -c; ulimit -n; ulimit -v"
	cmd := c.Command(cluster.Head, "sh", "-c", "ulimit -S -s 5000; ulimit -S -c 7; ulimit -S -n 777; ulimit -S -v 90000000; exec "+
		bin("golaunch")+" -H "+hostsArg(2)+" --ssh-config "+c.SSHConfig()+" -n 2 sh -c 'echo $("+show+")'")
	r := finish(t, cmd, cmd.Cmd, "")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "5000 7 777 90000000\n5000 7 777 90000000\n", r.stdout)
}

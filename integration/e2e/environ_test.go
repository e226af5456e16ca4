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

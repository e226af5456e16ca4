package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
)

// groupsClient is in barriers of two groups at a time, of the world and of its
// node, and reads each time what their members put before.
func groupsClient(c *rawClient) {
	c.must("cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0", "cmd=init pmi_version=1 pmi_subversion=1")
	var parity, half, world []int // the groups of this rank
	for r := range c.size {
		world = append(world, r)
		if r%2 == c.rank%2 {
			parity = append(parity, r)
		}
		if r < c.size/2 == (c.rank < c.size/2) {
			half = append(half, r)
		}
	}
	slices.Reverse(half) // members may be named in any order
	for round := range 4 {
		c.must("cmd=put_result rc=0", "cmd=put kvsname=k key=mine%d value=%d of %d", c.rank, round, c.rank)
		c.enter(parity, 7)
		c.enter(half, 8)
		c.say("cmd=get_appnum") // served meanwhile
		got := []string{c.line(), c.line(), c.line()}
		slices.Sort(got)
		if want := []string{"cmd=appnum appnum=0", "cmd=barrier_out tag=7", "cmd=barrier_out tag=8"}; !slices.Equal(got, want) {
			c.die("the barriers of two groups and a question are answered %q", got)
		}
		c.check(parity, round)
		c.check(half, round)
		c.must("cmd=barrier_out tag=9", "cmd=barrier_in group=WORLD:9")
		c.check(world, round)
		if round%2 == 1 { // else the next round's groups meet the same epoch
			c.must("cmd=barrier_out", "cmd=barrier_in")
			c.check(world, round)
		}
		c.must("cmd=barrier_out tag=1", "cmd=barrier_in group=NODE:1")
	}
	c.must("cmd=finalize_ack", "cmd=finalize")
}

// enter enters the barrier of a group and does not wait.
func (c *rawClient) enter(members []int, tag int) {
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(members), " ", ","), "[]")
	c.say("cmd=barrier_in group=%s:%d", text, tag)
}

// check reads what members put in a round.
func (c *rawClient) check(members []int, round int) {
	for _, r := range members {
		c.must(fmt.Sprintf("cmd=get_result rc=0 value=%d of %d", round, r), "cmd=get kvsname=k key=mine%d", r)
	}
}

// Barriers of groups cross nodes, whatever policy holds the values.
func TestGroupBarriersAcrossNodes(t *testing.T) {
	for _, policy := range cache.Policies() {
		t.Run(string(policy), func(t *testing.T) {
			r := local(t, "", append([]string{"--pmi=1.2", "-n", "14", "--nodes", "7", "--degree", "2", "--cache", string(policy)}, raw("groups")...)...)
			require.Zero(t, r.code, r.stderr)
			require.Len(t, r.lines(), 14)
		})
	}
	for _, args := range [][]string{{"-n", "1"}, {"-n", "4"}, {"-n", "3", "--nodes", "3"}} {
		r := local(t, "", append(append([]string{"--pmi", "1.2"}, args...), raw("groups")...)...)
		require.Zero(t, r.code, r.stderr)
	}
}

// Without the flag no client is told of them, as some accept 1.1 only.
func TestGroupBarriersAreAskedFor(t *testing.T) {
	r := local(t, "", append([]string{"-n", "1"}, raw("groups")...)...)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, `is answered "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", expected`)
	r = local(t, "", "--pmi", "2", "true")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, `--pmi: "2" is not a version; 1.1 and 1.2 are`)
}

package pmixhelper

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/pmix"
)

// each runs a test with each Open MPI that is here.
func each(t *testing.T, test func(t *testing.T, k kit)) {
	t.Helper()
	t.Run("Open MPI 4", func(t *testing.T) { test(t, openMPI4(t)) })
	t.Run("Open MPI 5", func(t *testing.T) { test(t, openMPI5(t)) })
}

// environment is that of all ranks: both nodes are this machine.
func environment() []string { return append(os.Environ(), "OMPI_MCA_btl_tcp_if_include=lo") }

// job runs a first world to its end, and everything that it spawns.
func job(t *testing.T, k kit, size int, argv ...string) (*cluster, *world) {
	t.Helper()
	c := newCluster(t, k)
	c.start("first", argv, t.TempDir(), environment(), size, pmix.Proc{}, func(failed string) { require.Empty(t, failed) })
	w := c.worlds["first"]
	c.until(c.over)
	return c, w
}

func TestRanksOfTwoNodesMeet(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		c, w := job(t, k, 4, k.build(t, filepath.Join(root(t), "native", "programs", "mpisum.c")), "-a")
		c.good(w)
		require.Contains(t, w.output(), "rank 3 of 4")
		c.untilClients(w, 2)
		for _, r := range w.ranks {
			require.Contains(t, r.out.String(), "sum 10 ok")
			require.Equal(t, []bool{false, true}, r.client)
		}
		c.close()
	})
}

// Worlds that follow each other are served, however soon the helper hears that the last
// one's ranks have ended.
func TestWorldsInARow(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		client := k.client(t, native(t, "pmixclient.c"))
		c := newCluster(t, k)
		for i := range 40 {
			name := fmt.Sprint("world", i)
			c.start(name, []string{client, "-m", "none"}, t.TempDir(), environment(), 2, pmix.Proc{}, func(failed string) { require.Empty(t, failed) })
			c.until(c.over)
			c.good(c.worlds[name])
		}
		c.close()
	})
}

func native(t *testing.T, name string) string {
	return filepath.Join(root(t), "native", "programs", name)
}

// A rank's abort comes with its code and its text, before it ends.
func TestAbort(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		c, w := job(t, k, 4, k.build(t, native(t, "mpiabort.c")), "3", "37")
		require.Len(t, c.aborts, 1)
		require.Equal(t, pmix.Proc{Namespace: "first", Rank: 3}, c.aborts[0].Proc)
		require.EqualValues(t, 37, c.aborts[0].Status)

		printed := w.output()
		for _, l := range c.logs { // Open MPI 5 has the text shown, 4 writes it
			printed += l.Text
		}
		require.Contains(t, printed, "MPI_ABORT was invoked on rank 3")
		c.close()
	})
}

// Worlds spawn worlds, whose ranks find their parents.
func TestSpawn(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		c, w := job(t, k, 2, k.build(t, native(t, "mpiworlds.c")), "spawn", "2", "2")
		require.Len(t, c.worlds, 3)
		for _, w := range c.worlds {
			c.good(w)
		}
		require.Contains(t, w.output(), "2 and 2 ranks: sum 10 ok")
		c.close()
	})
}

// Halves of a world meet by a name.
func TestNames(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		c, w := job(t, k, 4, k.build(t, native(t, "mpiworlds.c")), "halves")
		c.good(w)
		require.Contains(t, w.output(), "2 and 2 ranks: sum 10 ok")
		c.close()
	})
}

// MPI sessions make their communicators by groups.
func TestSessions(t *testing.T) {
	k := openMPI5(t)
	c, w := job(t, k, 4, k.build(t, native(t, "mpisessions.c")))
	c.good(w)
	require.Contains(t, w.output(), "4 ranks and 1: sum 10 ok")
	require.Contains(t, c.notes[len(c.notes)-1], "ends 0")
	c.close()
}

// Values that no fence has brought are fetched from the rank's node.
func TestDirectModex(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		c, w := job(t, k, 4, k.client(t, native(t, "pmixclient.c")), "-d", "-m", "all")
		c.good(w)
		require.Positive(t, c.modex)
		c.close()
	})
}

// Many values travel as well. Strings beyond 4 kB come compressed from PMIx 5.0.7.
func TestManyValues(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		c, w := job(t, k, 4, k.client(t, native(t, "pmixclient.c")), "-m", "all", "-n", "20", "-l", "4000")
		c.good(w)
		c.close()
	})
}

func TestCalls(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		program := k.client(t, filepath.Join("testdata", "pmixcalls.c"))
		for _, feature := range []string{"event", "group", "query", "log", "values"} {
			t.Run(feature, func(t *testing.T) {
				c, w := job(t, k, 4, program, feature)
				c.good(w)
				require.Contains(t, w.output(), "rank 3 ok")
				switch feature {
				case "event":
					require.Len(t, c.events, 1)
					require.Equal(t, []pmix.Proc{{Namespace: "first", Rank: 0}}, c.events[0].Affected)
				case "log":
					require.Equal(t, []pmix.Log{{Proc: pmix.Proc{Namespace: "first"}, Stderr: true, Text: "look here\n"}}, c.logs)
				}
				c.close()
			})
		}
		t.Run("place", func(t *testing.T) {
			c, w := job(t, k, 4, program, "place")
			c.good(w)
			for _, line := range []string{
				"universe: 4", "apps: 1", "nodes: 2", "local size: 2", "local peers: 0,1", "app's sizes: 4", "cpus: hwloc:0",
				"locality: ", "last's host: node1", "last's local rank: 1", "last's app: 0", "on node1: 2 from 2",
			} {
				require.Contains(t, w.output(), line)
			}
			require.NotContains(t, w.output(), "FOUND")
			c.close()
		})
		t.Run("abort", func(t *testing.T) {
			c, _ := job(t, k, 4, program, "abort")
			require.Equal(t, []pmix.Abort{{Proc: pmix.Proc{Namespace: "first"}, Status: 37, Text: "this is the end"}}, c.aborts)
			c.close()
		})
		t.Run("vanish", func(t *testing.T) {
			c, w := job(t, k, 4, program, "vanish")
			c.untilClients(w, 1)
			for _, r := range w.ranks {
				require.Zero(t, r.code)
				require.Equal(t, []bool{false}, r.client, "it has not finalized")
			}
			c.close()
		})
	})
}

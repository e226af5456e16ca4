package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/agenttest"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
)

// A rank that says nothing after its spawn was refused by error codes is told of, and
// no other.
func TestSilenceAfterARefusedSpawnIsTold(t *testing.T) {
	asks := func(size int, port string) (*testNode, *rank, <-chan overlay.Message) {
		a, w, said := nodeOf(t, lostWarden{})
		a.common.StallAfter = 1 << 40 // no clock tells
		r := &rank{world: w, Rank: serve.Rank{Number: 2}}
		r.asked = &pmi.Spawn{Commands: []pmi.Command{{Exec: "./w", Procs: 1}}, Preput: []pmi.Pair{{Key: "PARENT_ROOT_PORT_NAME", Value: port}}}
		w.spec.Size, w.ranks, w.byRank = size, []*rank{r}, map[job.Rank]*rank{2: r}
		a.job.spawns.watchRefused(r, "no slots")
		return a, r, said
	}
	const ch3, ch4 = "tag#0$description#n$port#1$", "tag#0$connentry#00$"
	a, r, said := asks(4, ch3)
	of := r.refusal
	require.NotNil(t, of)
	for _, goesOn := range []func(){func() { r.Exited = true }, func() { r.Exited, r.Heard = false, 1 }, func() { r.Heard = 0; a.job.end.KillOrdered(&a.end, 0) }} {
		goesOn()
		a.job.spawns.silent(of)
	}
	a.end, a.job.end = agenttest.EndOf(0, 1)
	a.job.spawns.silent(of)
	n, err := overlay.Decode[overlay.Note]((<-said).Body)
	require.NoError(t, err)
	require.Contains(t, n.Text, "since its spawn of ./w was refused (no slots): if it ignores error codes")

	for size, port := range map[int]string{1: ch3, 4: ch4} {
		_, r, _ = asks(size, port)
		require.Nil(t, r.refusal)
	}
}

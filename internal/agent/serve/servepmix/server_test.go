package servepmix

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/pmix"
)

var whole = []pmix.Proc{{Namespace: "kvs", Rank: pmix.Wildcard}}

// The helpers of a world learn of it before its ranks start, and have their environment.
func TestRanksGetTheirEnvironment(t *testing.T) {
	n := newNet(t, 2, 0, 1)
	n.Start()
	n.Settle()
	id, _ := hear[pmix.Init](n.nodes[2].fake())
	n.nodes[2].fake().say(id, pmix.Ready{})
	id, w := hear[pmix.World](n.nodes[2].fake())
	require.Equal(t, []string{"n0", "n2"}, w.Hosts)
	require.Equal(t, []pmix.Block{{Count: 2}, {First: 2, Count: 1, Host: 1}}, w.Blocks)
	require.Equal(t, []pmix.App{{Size: 3, Argv: []string{"app"}, Dir: "/here"}}, w.Apps)
	require.Equal(t, []pmix.Local{{Rank: 2}}, w.Locals)
	require.EqualValues(t, 1, w.Self)
	require.Equal(t, "/dir/kvs", w.Dir)
	n.nodes[2].fake().say(id, pmix.Registered{Envs: [][]string{{"A=1"}}})
	n.Run(func() bool { return n.nodes[2].server.opened })
	require.Equal(t, []string{"A=1"}, n.nodes[2].server.Env(n.nodes[2].Ranks[0]))
	require.Nil(t, n.nodes[1].fake())
}

// A fence of the world is over when all nodes with ranks are in, and brings what they
// gave.
func TestFencesOfTheWorld(t *testing.T) {
	n := newNet(t, 1, 0, 2, 1)
	n.begin()
	for range 3 {
		for _, i := range []int{3, 0, 2} {
			n.Settle()
			_, some := n.nodes[3].fake().next()
			require.False(t, some)
			n.nodes[i].fake().say(7, pmix.Fence{Procs: whole, Blob: []byte{byte('a' + i)}})
		}
		for _, i := range []int{0, 2, 3} {
			id, d := hear[pmix.Data](n.nodes[i].fake())
			require.EqualValues(t, 7, id)
			require.Equal(t, pmix.Data{Blob: []byte("acd")}, d)
		}
	}
}

// Whoever waits too long has the fence end everywhere.
func TestFencesHaveATimeout(t *testing.T) {
	n := newNet(t, 1, 1, 1)
	n.begin()
	n.nodes[1].fake().say(1, pmix.Fence{Procs: whole, Timeout: 5})
	n.Run(func() bool { return len(n.nodes[1].timers) > 0 })
	n.nodes[1].elapse()
	_, d := hear[pmix.Data](n.nodes[1].fake())
	require.Equal(t, pmix.Timeout, d.Status)
	for _, i := range []int{0, 2} {
		n.nodes[i].fake().say(1, pmix.Fence{Procs: whole})
		_, d := hear[pmix.Data](n.nodes[i].fake())
		require.Equal(t, pmix.Timeout, d.Status)
	}
	for _, x := range n.nodes {
		x.fake().say(2, pmix.Fence{Procs: whole})
	}
	for _, x := range n.nodes {
		_, d := hear[pmix.Data](x.fake())
		require.Equal(t, pmix.Success, d.Status)
	}
}

// A node asks that of a rank for what this has put.
func TestDirectModex(t *testing.T) {
	n := newNet(t, 1, 0, 1)
	n.begin()
	near, far := n.nodes[0].fake(), n.nodes[2].fake()
	near.say(5, pmix.Modex{Proc: pmix.Proc{Namespace: "kvs", Rank: 1}})
	id, ask := hear[pmix.Ask](far)
	require.Equal(t, pmix.Proc{Namespace: "kvs", Rank: 1}, ask.Proc)
	far.say(id, pmix.Told{Blob: []byte("put")})
	id, d := hear[pmix.Data](near)
	require.EqualValues(t, 5, id)
	require.Equal(t, pmix.Data{Blob: []byte("put")}, d)

	near.say(6, pmix.Modex{Proc: pmix.Proc{Namespace: "kvs", Rank: 2}})
	_, d = hear[pmix.Data](near)
	require.Equal(t, pmix.NotFound, d.Status)

	near.say(7, pmix.Modex{Proc: pmix.Proc{Namespace: "kvs", Rank: 1}})
	hear[pmix.Ask](far)
	r := n.nodes[2].Ranks[0]
	r.Exited = true
	n.nodes[2].server.Ended(r)
	_, d = hear[pmix.Data](near)
	require.Equal(t, pmix.ProcTerminated, d.Status)
}

// However many modexes wait for a node, or are on the way from one, it holds so many of
// them, and has room again when they are answered.
func TestModexesAreBounded(t *testing.T) {
	n := newNet(t, 1, 0, 1)
	far := n.nodes[2]
	var said []pmix.Status
	put := func() { // by a rank that is elsewhere
		far.local.put(proc("kvs", 0), func(s pmix.Status, _ []byte) { said = append(said, s) })
	}
	for range mostModexes { // before its world is open
		put()
	}
	require.Empty(t, said)
	put()
	require.Equal(t, []pmix.Status{pmix.OutOfResource}, said)
	n.begin()
	require.Len(t, said, 1+mostModexes)
	put()
	require.Equal(t, pmix.NotFound, said[1+mostModexes])

	near := n.nodes[0]
	for i := range uint32(mostModexes) {
		near.local.modexes[1<<31+i] = modex{}
	}
	near.fake().say(5, pmix.Modex{Proc: proc("kvs", 1)})
	_, d := hear[pmix.Data](near.fake())
	require.Equal(t, pmix.Data{Status: pmix.OutOfResource}, d)
	clear(near.local.modexes)
	near.fake().say(6, pmix.Modex{Proc: proc("kvs", 1)})
	id, _ := hear[pmix.Ask](far.fake())
	far.fake().say(id, pmix.Told{Blob: []byte("put")})
	_, d = hear[pmix.Data](near.fake())
	require.Equal(t, pmix.Data{Blob: []byte("put")}, d)
}

// An abort is told after a moment, and the rank waits so long.
func TestAborts(t *testing.T) {
	n := newNet(t, 2)
	n.begin()
	x := n.nodes[0]
	x.fake().say(0, pmix.Client{Proc: pmix.Proc{Namespace: "kvs", Rank: 1}})
	x.fake().say(3, pmix.Abort{Proc: pmix.Proc{Namespace: "kvs", Rank: 1}, Status: 37, Text: "no", Procs: []pmix.Proc{proc("kvs", 1)}})
	n.Run(func() bool { return len(x.timers) > 0 })
	require.True(t, x.server.Initialised(x.Ranks[1]))
	require.Empty(t, x.Failures)
	x.elapse()
	id, _ := hear[pmix.Done](x.fake())
	require.EqualValues(t, 3, id)
	require.Equal(t, []string{"rank 1 aborts some processes alone: golaunch ends the job"}, x.Notes[len(x.Notes)-1:])
	require.Equal(t, []job.Failure{{Class: job.CauseAbort, Rank: 1, Code: 37, Text: "no", Phase: "running"}}, x.Failures)
	x.Ranks[1].Exited = true
	x.server.Ended(x.Ranks[1])
	require.Len(t, x.Failures, 1, "it is told once")
}

// Where more processes are connected as a rank than are its own, one that is connected and
// does not say so is to blame.
func TestRanksThatConnectAsOthers(t *testing.T) {
	as := func(x *node, rank uint32, finalized bool) {
		heard := x.Ranks[rank].Heard
		x.fake().say(0, pmix.Client{Proc: pmix.Proc{Namespace: "kvs", Rank: rank}, Finalized: finalized})
		x.net.Run(func() bool { return x.Ranks[rank].Heard > heard })
	}
	begin := func(connected map[job.RankID]int) *node {
		n := newNet(t, 3)
		n.begin()
		x := n.nodes[0]
		x.timers, x.connected = nil, connected
		as(x, 1, false)
		require.Empty(t, x.timers)
		return x
	}
	rank := func(n int) job.RankID { return job.RankID{Rank: job.Rank(n)} }

	x := begin(map[job.RankID]int{rank(0): 1, rank(1): 1, rank(2): 1})
	as(x, 2, false)
	as(x, 1, false)
	as(x, 1, true)
	x.Ranks[0].Exited = true
	x.elapse()
	require.Equal(t, []job.Failure{{Class: job.CauseProtocol, Rank: 0, Phase: job.PhasePMIx, Text: "it has connected as rank 1: has it changed PMIX_RANK?"}}, x.Failures)

	x = begin(map[job.RankID]int{rank(0): 1, rank(1): 2})
	as(x, 1, false)
	x.elapse()
	require.Empty(t, x.Failures, "both are the rank's own")

	x = begin(map[job.RankID]int{rank(0): 1, rank(1): 2})
	for range 100 {
		as(x, 1, false)
	}
	require.Equal(t, 1, x.looked)
	x.elapse()
	require.Equal(t, 2, x.looked, "those who came meanwhile are looked at together")
	x.elapse()
	require.Len(t, x.Failures, 1)
	require.EqualValues(t, 0, x.Failures[0].Rank)

	x = begin(map[job.RankID]int{rank(0): 1, rank(1): 1})
	as(x, 1, false)
	as(x, 0, false)
	x.elapse()
	require.Empty(t, x.Failures, "it says who it is, and one of the others has gone")

	x = begin(map[job.RankID]int{rank(0): 1, rank(1): 1})
	as(x, 1, true)
	as(x, 1, false)
	x.elapse()
	require.Empty(t, x.Failures, "it has finalized, and begun again")

	x = begin(map[job.RankID]int{rank(1): 1})
	x.unknown = 1
	as(x, 1, false)
	notes := len(x.Notes)
	for range looksAgain {
		require.Len(t, x.Notes, notes, "it may be known at the next look")
		x.elapse()
	}
	require.Empty(t, x.Failures)
	require.Equal(t, "2 processes are connected over PMIx as rank 1, and whose they are is not known of all: if ranks hang, has one changed PMIX_RANK?", x.Notes[len(x.Notes)-1])

	x = begin(map[job.RankID]int{rank(1): 1})
	x.unknown = 1
	as(x, 1, false)
	x.connected, x.unknown = map[job.RankID]int{rank(0): 1, rank(1): 1}, 0
	x.elapse()
	x.elapse()
	require.Len(t, x.Failures, 1, "its owner is known a moment later")
	require.EqualValues(t, 0, x.Failures[0].Rank)

	x = begin(map[job.RankID]int{rank(0): 2, rank(1): 1, rank(2): 1})
	as(x, 1, false)
	as(x, 2, false)
	as(x, 2, false)
	as(x, 0, false)
	as(x, 0, false)
	require.Equal(t, 1, x.looked)
	x.elapse()
	x.elapse()
	require.Equal(t, 3, x.looked, "each rank that claims has its look")
}

// A helper's end is the node's failure, and no fault of its ranks.
func TestHelpersThatEnd(t *testing.T) {
	n := newNet(t, 1, 1)
	n.begin()
	x := n.nodes[0]
	n.nodes[1].fake().say(1, pmix.Fence{Procs: whole})
	x.fake().hangUp()
	n.Run(func() bool { return x.Ranks[0].Aborted })
	require.Empty(t, x.Failures)
	x.local.HelperEnded("libpmix.so.2", errHungUp)
	require.Len(t, x.Failures, 1)
	require.Contains(t, x.Failures[0].Text, "the PMIx helper (golaunch-pmix, libpmix.so.2) ended")
	_, d := hear[pmix.Data](n.nodes[1].fake())
	require.Equal(t, pmix.LostConnection, d.Status)
	x.elapse()
	require.Len(t, x.Failures, 1)
}

// Ranks that see the end of a helper before the agent does are not to blame.
func TestRanksThatEndBeforeTheirHelperHas(t *testing.T) {
	n := newNet(t, 2)
	n.begin()
	x := n.nodes[0]
	x.fake().say(0, pmix.Client{Proc: pmix.Proc{Namespace: "kvs", Rank: 1}})
	n.Run(func() bool { return x.server.Initialised(x.Ranks[1]) })
	require.Nil(t, x.server.Judge(x.Ranks[1], false))
	require.False(t, x.Ranks[1].Aborted, "its own end")
	x.dying = true
	require.Nil(t, x.server.Judge(x.Ranks[1], false))
	require.True(t, x.Ranks[1].Aborted)
	x.local.HelperEnded("libpmix.so.2", errHungUp)
	require.Len(t, x.Failures, 1)
	require.Contains(t, x.Failures[0].Text, "the PMIx helper (golaunch-pmix, libpmix.so.2) ended")
}

// Ranks that hear that another has ended, for which they wait, are known by it.
func TestRanksThatHearOfAnEnd(t *testing.T) {
	n := newNet(t, 1, 1)
	n.begin()
	near, far := n.nodes[0], n.nodes[1]
	near.fake().say(1, pmix.Fence{Procs: whole})
	far.fake().say(1, pmix.Fence{Procs: whole})
	_, d := hear[pmix.Data](near.fake())
	require.Equal(t, pmix.Success, d.Status)
	require.False(t, near.Ranks[0].Told)
	near.fake().say(2, pmix.Fence{Procs: whole})
	far.Ranks[0].Exited = true
	far.server.Ended(far.Ranks[0])
	_, d = hear[pmix.Data](near.fake())
	require.Equal(t, pmix.ProcTerminated, d.Status)
	require.True(t, near.Ranks[0].Told)
}

// A helper that was told to end is nobody's failure, and another takes its place.
func TestHelpersThatLeave(t *testing.T) {
	n := newNet(t, 1)
	n.begin()
	x := n.nodes[0]
	x.Ranks[0].Exited = true
	x.server.Ended(x.Ranks[0])
	x.fake().hangUp()
	x.local.HelperEnded("libpmix.so.2", nil)
	x.elapse()
	n.Settle()
	require.Empty(t, x.Failures)
	before := x.fake()
	x.local.helper("libpmix.so.2")
	require.NotSame(t, before, x.fake())
}

// A helper that ends with the ranks before, while a new world begins, is replaced.
func TestHelpersThatLeaveTooSoon(t *testing.T) {
	for name, sayReady := range map[string]bool{"while it starts": false, "while it learns of the world": true} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, 1)
			n.Start()
			n.Settle()
			x := n.nodes[0]
			old := x.fake()
			id, _ := hear[pmix.Init](old)
			if sayReady {
				old.say(id, pmix.Ready{})
				hear[pmix.World](old)
			}
			old.hangUp()
			n.Run(func() bool { return len(x.timers) > 0 })
			x.local.HelperEnded("libpmix.so.2", nil)
			n.Settle()
			require.NotSame(t, old, x.fake())
			id, _ = hear[pmix.Init](x.fake())
			x.fake().say(id, pmix.Ready{})
			id, _ = hear[pmix.World](x.fake())
			x.fake().say(id, pmix.Registered{Envs: [][]string{{"A=1"}}})
			n.Run(func() bool { return x.server.opened })
			x.elapse()
			require.Empty(t, x.Failures)
			require.False(t, x.Ranks[0].Aborted)
		})
	}
}

// A helper that answers nothing is named, once, whether it has begun or not; its timers end
// with it.
func TestHelpersThatDoNotAnswer(t *testing.T) {
	for name, ready := range map[string]bool{"from its start": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, 1)
			x := n.nodes[0]
			x.local.patience = 10 * time.Second
			n.Start()
			n.Settle()
			id, _ := hear[pmix.Init](x.fake())
			if ready {
				answers := func(body any) {
					x.fake().say(id, body)
					n.Run(func() bool { return !x.local.byLibrary["libpmix.so.2"].silence.asked })
				}
				answers(pmix.Ready{})
				hear[pmix.World](x.fake())
				for range 4 {
					x.elapse()
					id, _ = hear[pmix.Ping](x.fake())
					answers(pmix.Pong{})
				}
				x.elapse()
				id, _ = hear[pmix.Ping](x.fake())
			}
			before := len(x.Notes)
			for range 7 {
				require.Len(t, x.timers, 1)
				require.Equal(t, 5*time.Second, x.timers[0].after)
				x.elapse()
			}
			require.Equal(t, []string{"the PMIx helper (golaunch-pmix, libpmix.so.2, pid 77) has not answered for 10s: " +
				"ranks that need it wait; is it stopped (kill -CONT 77), or has its library hung?"}, x.Notes[before:])
			_, more := x.fake().next()
			require.False(t, more, "it is asked once")
			if ready {
				x.fake().say(id, pmix.Pong{})
			} else {
				x.fake().say(id, pmix.Ready{})
			}
			n.Run(func() bool { return len(x.Notes) > before+1 })
			require.Equal(t, "the PMIx helper (golaunch-pmix, libpmix.so.2) answers again", x.Notes[before+1])
			x.local.Close()
			x.elapse()
			require.Empty(t, x.timers)
		})
	}
}

// What a helper says that makes no sense is its end.
func TestHelpersThatBreakTheProtocol(t *testing.T) {
	n := newNet(t, 1)
	n.begin()
	n.nodes[0].fake().say(9, pmix.Told{})
	n.Run(func() bool { return len(n.nodes[0].Failures) > 0 })
	require.Contains(t, n.nodes[0].Failures[0].Text, "request 9")
}

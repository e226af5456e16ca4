package overlay

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// Of 1,024 nodes, each with every fence that is kept and with hosts that answered at
// the third try, the records are within their bounds where all come together.
func TestHonestRecordsOfManyNodes(t *testing.T) {
	const nodes, tries, steps = 1024, 3, 9
	hosts := make([]HostEntry, nodes)
	c := report.Collected{Levels: []report.Level{report.One(report.Counters{})}}
	c.Levels[0].Agents = nodes
	for i := range hosts {
		h := job.HostIndex(i)
		hosts[i].Index = h
		n := report.Node{Host: h, Parent: h / 2, Phases: make([]report.Phase, 6), Trace: &report.NodeTrace{
			Fences: make([]report.Fence, report.MaxFences), Steps: make([]report.Step, 4),
		}}
		if i > 0 {
			n.Trace.Clock = make([]report.Offset, 2)
		}
		for kid := max(1, 2*h); kid < 2*h+2 && kid < nodes; kid++ {
			for range tries {
				n.Trace.Starts = append(n.Trace.Starts, report.Start{Host: kid, Steps: make([]report.Step, steps), Error: "no answer"})
			}
		}
		c.Nodes = append(c.Nodes, n)
	}
	require.NoError(t, say(childAlone(true, hosts...), KindCollected, 0, c))
}

// The largest records of a child's node are within the bounds of all that is above it,
// with the additions of these.
func TestTheLargestRecordsAreWithinTheBoundsAbove(t *testing.T) {
	const children = 64
	hosts := make([]HostEntry, children+1)
	for i := range hosts {
		hosts[i].Index = job.HostIndex(i)
	}
	full := func(h job.HostIndex) report.Collected {
		return report.Collected{Levels: []report.Level{report.One(report.Counters{})}, Nodes: []report.Node{{
			Host: h, Parent: job.NoHost, Phases: make([]report.Phase, maxPhases), Trace: &report.NodeTrace{
				Fences: make([]report.Fence, report.MaxFences), Steps: make([]report.Step, maxSpans)}}}}
	}
	all := full(0)
	for _, h := range hosts[1:] {
		part := full(h.Index)
		require.NoError(t, say(childAlone(false, h), KindCollected, 0, part))
		part.Nodes[0].Trace.Clock = make([]report.Offset, 2)
		part.Below(0)
		all.Merge(part)
		for range maxTries {
			all.Nodes[0].Trace.Starts = append(all.Nodes[0].Trace.Starts, report.Start{Host: h.Index, Steps: make([]report.Step, maxSpans)})
		}
	}
	require.NoError(t, say(childAlone(false, hosts...), KindCollected, 0, all))
}

// A child whose records grow beyond the bounds of its parent is refused at once.
func TestWhatGrowsOnItsWay(t *testing.T) {
	many := func(change func(*report.Node)) report.Collected {
		n := report.Node{Host: 2, Parent: job.NoHost, Trace: &report.NodeTrace{}}
		change(&n)
		return report.Collected{Levels: []report.Level{{Agents: 1}}, Nodes: []report.Node{n}}
	}
	long := strings.Repeat("x", 17<<10)
	data := make([]byte, small.base)
	for len(Encode(SignRequest{Request: sshboot.SignRequest{Host: 2, Data: data}, By: 2})) > small.base {
		data = data[1:]
	}
	for name, x := range map[string]struct {
		kind    tree.Kind
		world   int
		message any
		want    string
	}{
		"an age that wraps": {kind: KindFailure, message: job.Failure{Class: job.CauseExit, Rank: 4, Host: 2, Code: 1, Age: math.MaxInt64}, want: "a failure of"},
		"a long phase":      {kind: KindFailure, message: job.Failure{Class: job.CauseExit, Rank: 4, Host: 2, Code: 1, Phase: long}, want: "a text of 17408 bytes"},
		"a long library":    {kind: KindWaiting, message: Waiting{Library: long}, want: "a text of 17408 bytes"},
		"a long step":       {kind: KindProgress, message: Progress{Step: bootstrap.Phase(long), Host: job.NoHost}, want: "a text of 17408 bytes"},
		"a long wait":       {kind: KindWaits, message: Waits{Waits: []Wait{{Text: long}}}, want: "a text of 17408 bytes"},
		"one wait as two":   {kind: KindWaits, message: Waits{Waits: []Wait{{}, {}}}, want: "told of twice"},
		"a long reason":     {kind: KindStarted, world: 1, message: Started{Failures: []StartFailure{{Host: 3, Count: 1, Code: 1, Text: long}}}, want: "a text of 17408 bytes"},
		"a long cause":      {kind: KindDied, message: Died{Dead: []DeadHost{{Index: 2, Cause: long}}}, want: "a text of 17408 bytes"},
		"a large request":   {kind: KindSign, message: SignRequest{Request: sshboot.SignRequest{Host: 2, Data: data}, By: 2}, want: "a request of"},
		"a long name":       {kind: KindName, message: NameRequest{Host: 2, Rank: 4, Op: pmi.Publish, Port: data[:len(data):len(data)], Service: make([]byte, pmi.MaxLine+1)}, want: "a text of"},
		"starts of one field each": {kind: KindCollected, message: many(func(n *report.Node) {
			n.Trace.Starts = make([]report.Start, maxTries+1)
			for i := range n.Trace.Starts {
				n.Trace.Starts[i].Host = 3
			}
		}), want: "try 9 to start n3"},
		"too many fences": {kind: KindCollected, message: many(func(n *report.Node) { n.Trace.Fences = make([]report.Fence, report.MaxFences+1) }), want: "257 fences"},
		"its own clock":   {kind: KindCollected, message: many(func(n *report.Node) { n.Trace.Clock = make([]report.Offset, 1) }), want: "1 offsets"},
		"too many steps":  {kind: KindCollected, message: many(func(n *report.Node) { n.Trace.Steps = make([]report.Step, maxSpans+1) }), want: "17 steps"},
		"too many phases": {kind: KindCollected, message: many(func(n *report.Node) { n.Phases = make([]report.Phase, maxPhases+1) }), want: "17 phases"},
	} {
		require.ErrorContains(t, say(middleChild(false), x.kind, x.world, x.message), x.want, name)
	}
}

// Of many ranks of one node every other one may wait, which takes a run for each.
func TestEveryOtherRankMayWait(t *testing.T) {
	const ranks = 40_000
	var w Worlds
	o := w.Child(false, []HostEntry{{Index: 0}})
	w.Know(job.Cold, 0, []job.Block{{Count: ranks}})
	m := Waiting{Library: strings.Repeat("x", maxCause)}
	for r := job.Rank(0); r < ranks; r += 2 {
		m.Ranks = append(m.Ranks, RankRange{First: r, Count: 1})
	}
	require.NoError(t, say(o, KindWaiting, 0, m))
}

// Of many hosts every other one may be lost with one of them, which takes a run for each.
func TestEveryOtherHostMayBeLost(t *testing.T) {
	var hosts []HostEntry
	var lost []job.HostIndex
	for h := job.HostIndex(0); h < 65536; h++ {
		hosts = append(hosts, HostEntry{Index: h})
		if h%2 == 1 {
			lost = append(lost, h)
		}
	}
	o := childAlone(false, hosts...)
	f := job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 1, Text: strings.Repeat("x", maxText), Lost: tree.MakeHosts(lost)}
	require.Len(t, f.Lost, len(lost))
	require.NoError(t, say(o, KindFailure, 0, f))
}

// A child tells each cause of a rank once, also of a world that is over, of whose
// ranks nobody knows the numbers.
func TestFailuresAreToldOnce(t *testing.T) {
	o := middleChild(false)
	f := job.Failure{Class: job.CauseExit, Rank: 4, Host: 2, Code: 1}
	require.NoError(t, say(o, KindFailure, 0, f))
	f.Code = 2
	require.ErrorContains(t, say(o, KindFailure, 0, f), "said twice")
	f.Class = job.CauseAbort
	require.NoError(t, say(o, KindFailure, 0, f))
	o = middleChild(false)
	heard := 0
	for f.World = 3; heard < 1000; heard++ {
		f.Rank = job.Rank(heard)
		if say(o, KindFailure, 0, f) != nil {
			break
		}
	}
	require.Equal(t, causesOfRank*o.ranks, heard)
}

package servepmix

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/pmi"
)

// Fences of some of a world, and groups, meet at the root.
func TestSomeOfAWorldMeet(t *testing.T) {
	n := newNet(t, 2, 1, 1)
	n.begin()
	some := []pmix.Proc{proc("kvs", 0), proc("kvs", 1), proc("kvs", 3)}
	n.nodes[2].fake().say(4, pmix.Fence{Procs: some, Blob: []byte("c")})
	n.nodes[0].fake().say(5, pmix.Fence{Procs: some, Blob: []byte("a")})
	for i, want := range map[int]uint32{0: 5, 2: 4} {
		id, d := hear[pmix.Data](n.nodes[i].fake())
		require.Equal(t, want, id)
		require.Equal(t, pmix.Data{Blob: []byte("ac")}, d)
	}
	all := []pmix.Proc{proc("kvs", 0), proc("kvs", 1), proc("kvs", 2), proc("kvs", 3)}
	for i, x := range n.nodes {
		x.fake().say(6, pmix.Group{ID: "g", Procs: all, Assign: i == 1, Blob: []byte{byte(i)}})
	}
	for _, x := range n.nodes {
		_, g := hear[pmix.Grouped](x.fake())
		require.Equal(t, pmix.Grouped{Context: 1, Members: all, Blobs: [][]byte{{0}, {1}, {2}}}, g)
	}
	last := n.calls[len(n.calls)-1]
	require.Less(t, len(last.Frame), 60, "all ranks are said as one")
}

// Worlds that connect learn of each other first, and then of what the others have put.
func TestWorldsConnect(t *testing.T) {
	n := newNet(t, 1, 1, 1)
	n.begin()
	n.also(1, "other", 0, 0, 2)
	both := []pmix.Proc{proc("kvs", pmix.Wildcard), proc("other", pmix.Wildcard)}
	for _, x := range n.nodes {
		x.fake().say(3, pmix.Connect{Procs: both})
	}
	for _, i := range []int{0, 1} {
		id, w := hear[pmix.World](n.nodes[i].fake())
		require.Equal(t, "other", w.Namespace)
		require.EqualValues(t, -1, w.Self)
		require.Equal(t, []string{"n2"}, w.Hosts)
		require.Empty(t, w.Locals)
		n.nodes[i].fake().say(id, pmix.Registered{})
		_, d := hear[pmix.Done](n.nodes[i].fake())
		require.Equal(t, pmix.Success, d.Status)
	}
	hear[pmix.Done](n.nodes[2].fake())

	n.nodes[0].fake().say(4, pmix.Modex{Proc: proc("other", 1)})
	id, ask := hear[pmix.Ask](n.nodes[2].fake())
	require.Equal(t, proc("other", 1), ask.Proc)
	n.nodes[2].fake().say(id, pmix.Told{Blob: []byte("put")})
	_, data := hear[pmix.Data](n.nodes[0].fake())
	require.Equal(t, []byte("put"), data.Blob)

	n.nodes[2].local.servers["other"].Close()
	_, f := hear[pmix.Forget](n.nodes[2].fake())
	require.Equal(t, "other", f.Namespace)
	n.root.Forget("other")
	_, f = hear[pmix.Forget](n.nodes[1].fake())
	require.Equal(t, "other", f.Namespace)
	require.Empty(t, n.nodes[1].local.known)
}

// A helper that cannot learn of a world has no connect, each time that it is asked.
func TestAWorldThatCannotBeLearnt(t *testing.T) {
	n := newNet(t, 1, 1)
	n.begin()
	n.also(1, "other", 0, 1)
	both := []pmix.Proc{proc("kvs", pmix.Wildcard), proc("other", pmix.Wildcard)}
	for range 2 {
		for _, x := range n.nodes {
			x.fake().say(3, pmix.Connect{Procs: both})
		}
		id, _ := hear[pmix.World](n.nodes[0].fake())
		n.nodes[0].fake().say(id, pmix.Registered{Status: pmix.BadParameter, Text: "no"})
		_, d := hear[pmix.Done](n.nodes[0].fake())
		require.Equal(t, pmix.BadParameter, d.Status)
		require.Contains(t, n.nodes[0].Notes[len(n.nodes[0].Notes)-1], "cannot learn of world other: no")
		hear[pmix.Done](n.nodes[1].fake())
	}
}

// Names are the job's.
func TestNamesOfOtherNodes(t *testing.T) {
	n := newNet(t, 1, 1)
	n.begin()
	n.nodes[1].fake().say(1, pmix.Lookup{Proc: proc("kvs", 1), Range: pmix.RangeSession, Keys: []string{"port"}})
	n.Settle()
	n.nodes[0].fake().say(1, pmix.Publish{Proc: proc("kvs", 0), Range: pmix.RangeSession, Persistence: pmix.UntilProcess,
		Entries: []pmix.Entry{{Publisher: proc("kvs", 0), Key: "port", Blob: []byte("here")}}})
	hear[pmix.Done](n.nodes[0].fake())
	_, f := hear[pmix.Found](n.nodes[1].fake())
	require.Equal(t, []pmix.Entry{{Publisher: proc("kvs", 0), Key: "port", Blob: []byte("here")}}, f.Entries)
	r := n.nodes[0].Ranks[0] // never connected, and yet a publisher
	r.Exited = true
	n.nodes[0].server.Ended(r)
	n.Settle()
	require.Empty(t, n.root.names.entries)
}

// The death of a process, where the job goes on, and what processes tell, comes to all
// helpers; a job that ends tells of nobody.
func TestEventsComeToAllNodes(t *testing.T) {
	for name, killed := range map[string]bool{"alone": false, "with all": true} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, 1, 1)
			n.begin()
			x := n.nodes[1]
			x.fake().say(0, pmix.Client{Proc: proc("kvs", 1)})
			n.Settle()
			x.Ranks[0].Exited, x.Killed = true, killed
			x.server.Ended(x.Ranks[0])
			n.Settle()
			f, told := n.nodes[0].fake().next()
			require.Equal(t, !killed, told)
			if told {
				require.Equal(t, []pmix.Proc{proc("kvs", 1)}, f.Body.(pmix.Notify).Affected)
			}
		})
	}
	n := newNet(t, 1, 1)
	n.begin()
	n.nodes[0].fake().say(2, pmix.Event{Status: -1000, Source: proc("kvs", 0), Range: pmix.RangeNamespace})
	hear[pmix.Done](n.nodes[0].fake())
	_, e := hear[pmix.Notify](n.nodes[1].fake())
	require.EqualValues(t, -1000, e.Status)
	n.Settle()
	_, again := n.nodes[0].fake().next()
	require.False(t, again, "its library has told of it")
}

// A process that ends as it should ends the meetings that wait for it, unless its world is
// over, or ends, soon.
func TestMeetingsWithOneThatHasEnded(t *testing.T) {
	ended := func(t *testing.T) (n *net, near, far *node) {
		n = newNet(t, 1, 3)
		n.begin()
		near, far = n.nodes[0], n.nodes[1]
		near.fake().say(1, pmix.Connect{Procs: []pmix.Proc{proc("kvs", 0), proc("kvs", 1)}})
		for i, r := range far.Ranks[:2] {
			far.fake().say(0, pmix.Client{Proc: proc("kvs", uint32(i+1))})
			far.fake().say(0, pmix.Client{Proc: proc("kvs", uint32(i+1)), Finalized: true})
			n.Run(func() bool { return far.server.Finalised(r) })
			r.Exited = true
			far.server.Ended(r)
		}
		n.Settle()
		_, told := near.fake().next()
		require.False(t, told)
		return n, near, far
	}
	n, near, far := ended(t)
	require.Len(t, far.timers, 1, "one for all")
	far.elapse()
	_, d := hear[pmix.Done](near.fake())
	require.Equal(t, pmix.ProcTerminated, d.Status)
	require.True(t, near.Ranks[0].Told, "what it does then is not why the job fails")
	_, event := near.fake().next()
	require.False(t, event, "nobody has failed")
	near.fake().say(2, pmix.Group{ID: "g", Procs: []pmix.Proc{proc("kvs", 0), proc("kvs", 2)}})
	_, g := hear[pmix.Grouped](near.fake())
	require.Equal(t, pmix.ProcTerminated, g.Status)
	require.Len(t, n.calls, 4)

	for name, end := range map[string]func(far *node){
		"its world is over": func(far *node) { far.server.Close() },
		"the job ends":      func(far *node) { far.Killed = true },
	} {
		n, _, far := ended(t)
		end(far)
		far.elapse()
		n.Settle()
		require.Len(t, n.calls, 1, name)
	}
}

// A helper tells what its own ranks tell, and of a world that is over nothing.
func TestEventsOfAnothersRank(t *testing.T) {
	n := newNet(t, 1, 1)
	n.begin()
	x := n.nodes[0]
	x.fake().say(1, pmix.Event{Status: -1000, Source: proc("over", 0), Range: pmix.RangeSession})
	_, d := hear[pmix.Done](x.fake())
	require.Equal(t, pmix.NotFound, d.Status)
	x.fake().say(2, pmix.Event{Status: -1000, Source: proc("kvs", 1), Range: pmix.RangeSession})
	n.Run(func() bool { return len(x.Failures) > 0 })
	require.Contains(t, x.Failures[0].Text, "rank 1 of kvs is not one of its")
	require.Empty(t, n.calls)
}

// What is too long for a message between nodes is refused, and nobody's end.
func TestWhatIsTooLong(t *testing.T) {
	n := newNet(t, 1, 1)
	n.begin()
	long := make([]byte, maxBlob+1)
	x := n.nodes[0]
	require.NoError(t, x.local.request(x.local.helper("libpmix.so.2"), pmix.Frame{Request: 1, Body: pmix.Event{Source: proc("kvs", 0), Blob: long}}))
	require.Equal(t, []string{fmt.Sprintf("an event of rank 0 of world kvs stays on its node: %d bytes are more than a message has", len(long))}, x.Notes[len(x.Notes)-1:])
	require.Empty(t, n.calls)

	x.fake().say(2, pmix.Modex{Proc: proc("kvs", 1)})
	far := n.nodes[1]
	id, _ := hear[pmix.Ask](far.fake())
	far.local.byLibrary["libpmix.so.2"].requests[id](pmix.Frame{Body: pmix.Told{Blob: long}})
	_, d := hear[pmix.Done](x.fake())
	require.Equal(t, pmix.OutOfResource, d.Status)
	_, got := hear[pmix.Data](x.fake())
	require.Equal(t, pmix.Data{Status: pmix.OutOfResource}, got)
}

// What ranks want shown is handed on, of ranks that are the helper's.
func TestWords(t *testing.T) {
	n := newNet(t, 1, 1)
	n.begin()
	x := n.nodes[0]
	x.fake().say(1, pmix.Log{Proc: proc("kvs", 0), Stderr: true, Text: "hello"})
	hear[pmix.Done](x.fake())
	require.Equal(t, []string{"0 true hello"}, x.shown)
	x.fake().say(2, pmix.Log{Proc: proc("kvs", 1), Text: "not mine"})
	n.Run(func() bool { return len(x.Failures) > 0 })
	require.Contains(t, x.Failures[0].Text, "rank 1 of kvs is not one of its")
}

// A spawn is PMI's, with the hints that PMIx has for it and an environment without what
// tells the parent who it is.
func TestSpawns(t *testing.T) {
	n := newNet(t, 1)
	n.begin()
	x := n.nodes[0]
	x.fake().say(8, pmix.Spawn{Proc: proc("kvs", 0), Infos: []pmix.Pair{{Key: "pmix.host", Value: "n1, n2"}}, Apps: []pmix.SpawnApp{
		{Command: "child", Argv: []string{"child", "-x"}, Procs: 2, Dir: "/work",
			Env: []string{"A=1", "PMIX_RANK=0", "PMIX_MCA_gds=hash", "OMPI_MCA_orte_ess_num_procs=4", "OMPI_MCA_btl_sm_backing_directory=/x", "OMPI_MCA_orte_precondition_transports=k", "bad"}},
		{Argv: []string{"other"}, Procs: 1, Infos: []pmix.Pair{{Key: "pmix.wdir", Value: "/elsewhere"}, {Key: "pmix.unknown"}, {Key: "pmix.prefix", Value: "/opt"}}},
	}})
	n.Run(func() bool { return len(x.spawns) > 0 })
	s := x.spawns[0]
	require.Equal(t, job.RankID{}, s.by)
	require.Equal(t, []pmi.Command{
		{Exec: "child", Procs: 2, Args: []string{"-x"}, Hints: pmi.Hints{Hosts: []string{"n1", "n2"}, Dir: "/work"},
			Env: []string{"A=1", "PMIX_MCA_gds=hash", "OMPI_MCA_orte_precondition_transports=k"}},
		{Exec: "other", Procs: 1, Hints: pmi.Hints{Hosts: []string{"n1", "n2"}, Dir: "/elsewhere", Path: "/opt/bin"}},
	}, s.what.Commands)
	x.local.Spawned(s.call, "kvs_1", "")
	id, a := hear[pmix.Spawned](x.fake())
	require.EqualValues(t, 8, id)
	require.Equal(t, pmix.Spawned{Namespace: "kvs_1"}, a)
	x.local.Spawned(s.call, "again", "")

	many := slices.Repeat([]pmix.SpawnApp{{Command: "x", Procs: 1}}, 1000)
	for _, bad := range []pmix.Spawn{{}, {Infos: []pmix.Pair{{Key: "pmix.host", Value: strings.Repeat("n,", maxSpawn/1000)}}, Apps: many}, {Apps: []pmix.SpawnApp{{Procs: 1}}}, {Apps: []pmix.SpawnApp{{Command: "x"}}},
		{Apps: []pmix.SpawnApp{{Command: "x", Procs: 1, Env: []string{"A=" + string(make([]byte, maxSpawn))}}}}} {
		bad.Proc = proc("kvs", 0)
		x.fake().say(9, bad)
		_, a := hear[pmix.Spawned](x.fake())
		require.Equal(t, pmix.BadParameter, a.Status)
	}
	x.fake().say(10, pmix.Spawn{Proc: proc("kvs", 0), Apps: []pmix.SpawnApp{{Command: "x", Procs: 1}}})
	n.Run(func() bool { return len(x.spawns) > 1 })
	x.local.Spawned(x.spawns[1].call, "", "no slot")
	_, a = hear[pmix.Spawned](x.fake())
	require.Equal(t, pmix.Failure, a.Status)
}

// The root's and other nodes' nonsense is an error.
func TestAnswersThatBreakTheProtocol(t *testing.T) {
	n := newNet(t, 1, 1)
	n.begin()
	l := n.nodes[0].local
	for name, a := range map[string]overlay.PMIxAnswer{
		"no frame":    {},
		"two frames":  {Frame: pmix.Append(pmix.Append(nil, 0, pmix.Done{}), 0, pmix.Done{})},
		"no answer":   {Frame: pmix.Append(nil, 0, pmix.End{})},
		"nobody's":    {Frame: pmix.Append(nil, 0, pmix.Done{})},
		"half of one": {Frame: pmix.Append(nil, 0, pmix.Forget{Namespace: "x"})[:9]},
	} {
		require.Error(t, l.Answered(77, a), name)
	}
	n.nodes[0].fake().say(1, pmix.Modex{Proc: proc("kvs", 1)})
	hear[pmix.Ask](n.nodes[1].fake())
	require.Error(t, l.Asked(0, overlay.PMIxModex{Number: l.last, Answer: true}), "of another node than was asked")
	require.NoError(t, l.Asked(1, overlay.PMIxModex{Number: 99, Answer: true}), "it came too late")
}

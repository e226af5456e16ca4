package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/tree"
)

// TestDamagedLaunch has a launch whose blocks of ranks do not fit each other: what is wrong is
// said, instead of ranks being taken for agents.
func TestDamagedLaunch(t *testing.T) {
	block := func(host job.HostIndex, first job.Rank, count int) job.Block {
		return job.Block{Host: host, First: first, Count: count}
	}
	for name, x := range map[string]struct {
		blocks []job.Block
		want   string
	}{
		"as it should be":    {[]job.Block{block(3, 0, 2), block(5, 2, 1), block(3, 3, 1)}, ""},
		"too few ranks":      {[]job.Block{block(3, 0, 2), block(5, 2, 1)}, "it is said where 3 of 4 ranks are"},
		"no ranks":           {nil, "0 of 4 ranks"},
		"too many":           {[]job.Block{block(3, 0, 2), block(5, 2, 3)}, "ranks 2+3 of app 0 do not exist"},
		"a gap":              {[]job.Block{block(3, 0, 2), block(5, 3, 1)}, "ranks 3+1 where rank 2 should follow"},
		"twice":              {[]job.Block{block(3, 0, 2), block(5, 0, 2)}, "ranks 0+2 where rank 2 should follow"},
		"out of order":       {[]job.Block{block(3, 2, 2), block(5, 0, 2)}, "ranks 2+2 where rank 0 should follow"},
		"an empty block":     {[]job.Block{block(3, 0, 4), block(5, 4, 0)}, "ranks 4+0"},
		"a host that is not": {[]job.Block{block(3, 0, 2), block(4, 2, 2)}, "ranks 2+2 are where no node of the job is"},
	} {
		a := joined(&testNode{self: overlay.HostEntry{Index: 3}, subtree: &overlay.Subtree{}, job: &Job{launch: &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB}, Nodes: []job.HostIndex{3, 5}, Universe: -1}}})
		a.job.Ranged()
		w, err := a.job.newWorld(0, overlay.World{Size: 4, KVSName: "k", Apps: make([]job.App, 1), Blocks: x.blocks}, false)
		if err == nil {
			err = a.job.serving.makeFor(w)
		}
		if x.want == "" {
			require.NoError(t, err, name)
			require.NotNil(t, w.servers.tree, name)
			continue
		}
		require.ErrorContains(t, err, x.want, name)
	}
}

// TestLaunchOfALostChild has the root lose a child while the launch that counts
// on it is under way: that is no breach of the parent's.
func TestLaunchOfALostChild(t *testing.T) {
	a := joined(&testNode{root: true, self: overlay.HostEntry{Index: 3}, subtree: &overlay.Subtree{}, job: &Job{launch: &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB}, Nodes: []job.HostIndex{3, 5, 6}, Universe: -1}}})
	a.job.Ranged()
	slot := a.subtree.Node.Join()
	a.subtree.Cover(slot, []job.HostIndex{5, 6})
	a.subtree.Leave(slot)
	w, err := a.job.newWorld(0, overlay.World{Size: 3, KVSName: "k", Apps: make([]job.App, 1), Blocks: []job.Block{{Host: 3, Count: 1}, {Host: 5, First: 1, Count: 1}, {Host: 6, First: 2, Count: 1}}}, false)
	require.NoError(t, err)
	require.NoError(t, a.job.serving.makeFor(w))
	require.Equal(t, []serve.Direction{serve.Here, serve.Gone, serve.Gone}, w.servers.view.Toward)
}

// TestWhereAWorldHasServers looks at who has a part in a world: the nodes from the
// lowest that has all of it down to its ranks, whoever below was lost meanwhile.
func TestWhereAWorldHasServers(t *testing.T) {
	const up, here, gone = serve.Up, serve.Here, serve.Gone
	for name, x := range map[string]struct {
		hosts  []job.HostIndex // of the ranks
		lost   bool            // the child with hosts 6 and 7 is
		root   bool
		toward []serve.Direction // none: no part
		isRoot bool
	}{
		"here alone":                 {[]job.HostIndex{3}, false, false, []serve.Direction{here}, true},
		"here and below":             {[]job.HostIndex{3, 4, 7}, false, false, []serve.Direction{here, 0, 1}, true},
		"below one child":            {[]job.HostIndex{6, 7}, false, false, nil, false},
		"below one child of a root":  {[]job.HostIndex{6, 7}, false, true, nil, false},
		"below two":                  {[]job.HostIndex{4, 7}, false, false, []serve.Direction{0, 1}, true},
		"above, too":                 {[]job.HostIndex{1, 7}, false, false, []serve.Direction{up, 0}, false},
		"lost, and below another":    {[]job.HostIndex{4, 7}, true, false, []serve.Direction{0, gone}, true},
		"lost, and above":            {[]job.HostIndex{1, 7}, true, false, []serve.Direction{up, gone}, false},
		"here, and a host not known": {[]job.HostIndex{3, 9}, false, true, []serve.Direction{here, up}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inbox := overlay.NewInbox(func() {})
			starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, inbox, nil)
			sink := func(tree.Slot) overlay.Sink { return func(tree.Header, []byte) {} }
			a := joined(&testNode{self: overlay.HostEntry{Index: 3}, root: x.root, subtree: overlay.NewSubtree(starter, overlay.Common{}, inbox, sink), job: &Job{launch: &overlay.Launch{}}})
			a.job.Ranged()
			t.Cleanup(a.subtree.Close)
			for _, h := range []job.HostIndex{4, 6} {
				near, far := memlink.Pair()
				t.Cleanup(func() { far.Close() })
				a.subtree.Join(overlay.Joined{Link: near, Pipe: noPipe{}, Host: overlay.HostEntry{Index: h}, Rest: []overlay.HostEntry{{Index: h + 1}}})
			}
			if x.lost {
				a.subtree.Leave(1)
			}
			var blocks []job.Block
			for i, h := range x.hosts {
				blocks = append(blocks, job.Block{Host: h, First: job.Rank(i), Count: 1})
			}
			w, err := a.job.newWorld(2, overlay.World{Size: len(blocks), Apps: make([]job.App, 1), Blocks: blocks}, true)
			require.NoError(t, err)
			v := a.job.serving.viewOf(w)
			if x.toward == nil {
				require.Nil(t, v)
				return
			}
			require.Equal(t, x.toward, v.Toward)
			require.Equal(t, x.isRoot, v.Root)
		})
	}
}

// TestRefusedRanks has a node that can't hold the ranks of a spawned world: it tells
// of each of its blocks, which may lie apart.
func TestRefusedRanks(t *testing.T) {
	a := joined(&testNode{self: overlay.HostEntry{Index: 3}, subtree: &overlay.Subtree{}, job: &Job{launch: &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB}, Nodes: []job.HostIndex{3, 5}, Universe: -1}}})
	a.job.Ranged()
	w := &world{id: 1, spawned: true, refused: 3, spec: overlay.World{Blocks: []job.Block{{Host: 3, First: 0, Count: 2}, {Host: 5, First: 2, Count: 4}, {Host: 3, First: 6, Count: 1}}}}
	a.job.ranks.refuse(w)
	require.Len(t, w.own.Failures, 2)
	require.Equal(t, [2]int{0, 2}, [2]int{int(w.own.Failures[0].First), w.own.Failures[0].Count})
	require.Equal(t, [2]int{6, 1}, [2]int{int(w.own.Failures[1].First), w.own.Failures[1].Count})
	require.Equal(t, overlay.Done{Ended: 3, Never: 3}, w.ended)
	require.Contains(t, w.own.Failures[0].Text, "3 ranks are more than")
}

// TestNodesOfDealtOutRanks has ranks in no order of nodes.
func TestNodesOfDealtOutRanks(t *testing.T) {
	hosts := []job.HostIndex{5, 3, 3, 9, 5, 3}
	var blocks []job.Block
	for rank, h := range hosts {
		blocks = append(blocks, job.Block{Host: h, First: job.Rank(rank), Count: 1})
	}
	a := joined(&testNode{self: overlay.HostEntry{Index: 5}, subtree: &overlay.Subtree{}, root: true, job: &Job{launch: &overlay.Launch{Nodes: []job.HostIndex{3, 5, 9}}}})
	a.job.Ranged()
	w, err := a.job.newWorld(0, overlay.World{Size: len(hosts), Apps: make([]job.App, 1), Blocks: blocks}, false)
	require.NoError(t, err)
	view := a.job.serving.viewOf(w)
	for rank, node := range []job.NodeID{1, 0, 0, 2, 1, 0} {
		require.Equal(t, node, view.NodeOf(job.Rank(rank)))
		require.Equal(t, hosts[rank], w.hostOf(job.Rank(rank)))
	}
	require.Len(t, w.ranks, 2)
	require.Equal(t, []job.Rank{0, 4}, []job.Rank{w.ranks[0].Number, w.ranks[1].Number})
	require.Equal(t, []job.HostIndex{3, 5, 9}, w.nodes)
}

// TestAWorldThatLivesIsNotForgotten has a parent forget worlds too early: that is a breach,
// and what the warden says of their ranks still has a world.
func TestAWorldThatLivesIsNotForgotten(t *testing.T) {
	for id, living := range map[int]int{0: 0, 2: 1} {
		a, w, _ := nodeOf(t, lostWarden{})
		served(t, a, w)
		w.id, w.living, a.job.worlds, a.job.newest = id, living, map[int]*world{id: w}, id
		m := overlay.Message{From: tree.Up, Header: tree.Header{Kind: overlay.KindForget, Job: job.Cold, World: uint16(id)}}
		require.ErrorContains(t, a.job.FromParent(m), "is to be forgotten")
		require.NotPanics(t, func() { a.job.WardenSaid(proc.Exited{World: id}) })
	}
}

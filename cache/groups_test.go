package cache

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

// groupWorld is some nodes that fences and barriers connect at once, and what
// each must know by now.
type groupWorld struct {
	nodes []*Groups
	board map[string]string   // as of the last fence
	since []map[string]string // by node: own puts since
}

func newGroupWorld(n int) *groupWorld {
	w := &groupWorld{board: map[string]string{}}
	for i := range n {
		w.nodes = append(w.nodes, NewGroups(job.NodeID(i)))
		w.since = append(w.since, map[string]string{})
	}
	return w
}

func (w *groupWorld) put(n int, key, value string) {
	w.nodes[n].Put([]byte(key), []byte(value))
	w.since[n][key] = value
}

// get returns the value that a rank of node n reads.
func (w *groupWorld) get(n int, key string) string {
	if v, found := w.nodes[n].Get([]byte(key)); found {
		return v
	}
	if v, found := w.since[n][key]; found {
		return v
	}
	return w.board[key]
}

func (w *groupWorld) barrier(t require.TestingT, name string, members ...int) {
	var all []job.NodeID
	var known []GroupEntry
	for i, n := range members {
		var err error
		all, known, err = w.nodes[members[0]].Enter(job.NodeID(n), name, len(members), w.nodes[n].Known())
		require.NoError(t, err)
		require.Equal(t, i == len(members)-1, all != nil)
	}
	require.Len(t, all, len(members))
	for _, n := range all {
		w.nodes[n].Learn(known)
	}
}

// fence completes at every node.
func (w *groupWorld) fence() {
	for n, g := range w.nodes {
		for key, value := range w.since[n] {
			w.board[key] = value // the highest-numbered node comes last
		}
		clear(w.since[n])
		g.Fenced()
	}
}

func TestGroupsTellEachOther(t *testing.T) {
	w := newGroupWorld(4)
	w.put(0, "a", "1")
	w.barrier(t, "0,1", 0, 1)
	require.Equal(t, "1", w.get(1, "a"))
	require.Empty(t, w.get(2, "a"), "not in the group")
	w.barrier(t, "1,2", 1, 2)
	require.Equal(t, "1", w.get(2, "a"), "what node 1 knows of node 0")
	w.put(0, "a", "2")
	w.barrier(t, "0,1", 0, 1)
	require.Equal(t, "2", w.get(1, "a"), "what a node puts later is not beaten by what it put before")
	w.put(1, "a", "3")
	require.Equal(t, "3", w.get(1, "a"), "its own put, at once")
	w.put(3, "a", "4")
	w.barrier(t, "0,1,3", 0, 1, 3)
	for _, n := range []int{0, 1, 3} {
		require.Equal(t, "4", w.get(n, "a"), "as at the fence, the highest-numbered node wins")
	}
	w.fence()
	for n := range w.nodes {
		require.Equal(t, "4", w.get(n, "a"))
		require.Empty(t, w.nodes[n].Known())
	}
}

// A barrier's answer that is overtaken by a fence must not bring old values
// back, and one from a node that is ahead must not be lost.
func TestGroupsAndFencesOvertake(t *testing.T) {
	w := newGroupWorld(2)
	w.put(0, "a", "1")
	late := w.nodes[0].Known()
	w.fence()
	w.put(0, "a", "2")
	w.fence()
	w.nodes[1].Learn(late)
	require.Equal(t, "2", w.get(1, "a"))

	ahead := NewGroups(0)
	ahead.Fenced()
	ahead.Put([]byte("b"), []byte("new"))
	behind := NewGroups(1)
	behind.Learn(ahead.Known())
	behind.Fenced() // completes here only now
	value, _ := behind.Get([]byte("b"))
	require.Equal(t, "new", value)
	behind.Fenced()
	_, found := behind.Get([]byte("b"))
	require.False(t, found)
}

func TestGroupsRefuse(t *testing.T) {
	g := NewGroups(0)
	_, _, err := g.Enter(1, "1,2:0", 2, nil)
	require.NoError(t, err)
	for _, x := range []struct {
		from job.NodeID
		need int
	}{{1, 2}, {2, 3}, {2, 0}, {2, -1}} {
		_, _, err = g.Enter(x.from, "1,2:0", x.need, nil)
		require.ErrorContains(t, err, `barrier of group "1,2:0": node`)
	}
	_, _, err = g.Enter(1, "1,3:0", 0, nil)
	require.Error(t, err)
}

// After any run of puts, barriers and fences every node reads, of the keys of
// each other node, what that one had when they last had to do with each other,
// directly or by way of others.
func TestGroupsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "nodes")
		w := newGroupWorld(n)
		known := make([][]int, n) // by reader and owner: the version read
		version := make([]int, n)
		for i := range known {
			known[i] = make([]int, n)
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"put", "put", "barrier", "barrier", "fence"}).Draw(t, "step") {
			case "put":
				i := rapid.IntRange(0, n-1).Draw(t, "node")
				version[i]++
				known[i][i] = version[i]
				w.put(i, fmt.Sprint("k", i), fmt.Sprint(version[i]))
			case "barrier":
				members := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID[int]).Draw(t, "members")
				w.barrier(t, fmt.Sprint(members), members...)
				for owner := range n {
					newest := 0
					for _, m := range members {
						newest = max(newest, known[m][owner])
					}
					for _, m := range members {
						known[m][owner] = newest
					}
				}
			case "fence":
				w.fence()
				for reader := range n {
					copy(known[reader], version)
				}
			}
			for reader := range n {
				for owner := range n {
					want := ""
					if v := known[reader][owner]; v > 0 {
						want = fmt.Sprint(v)
					}
					require.Equal(t, want, w.get(reader, fmt.Sprint("k", owner)), "node %d reads what node %d put", reader, owner)
				}
			}
		}
	})
}

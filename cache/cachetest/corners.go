package cachetest

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
)

// fork is a root with two children, the first of which has two of its own.
var fork = Shape{Parent: []int{-1, 0, 1, 1, 0}, Ranks: []int{2, 2, 2, 2, 2}}

// corners are the cases that published implementations got wrong, or that
// random runs would meet too rarely.
var corners = []struct {
	name  string
	shape Shape
	run   func(cl *Cluster)
}{
	{"one node", Chain(1, 3), func(cl *Cluster) {
		cl.Put(0, "k", "v")
		cl.everywhere("k", "other")
		cl.Fence()
		cl.everywhere("k", "other")
	}},
	{"fences without puts", fork, func(cl *Cluster) {
		for range 4 {
			cl.Fence()
			cl.everywhere("k")
		}
	}},
	{"one rank puts", fork, func(cl *Cluster) {
		cl.Put(3, "k", "v")
		cl.everywhere("k") // own node at once, the others not
		cl.Fence()
		cl.everywhere("k")
		cl.state("k", "v")
	}},
	{"thousands from one rank", fork, func(cl *Cluster) {
		for i := range 3000 {
			cl.Put(2, fmt.Sprintf("key-%d", i), fmt.Sprintf("value %d", i))
		}
		cl.Fence()
		for i := range 3000 {
			cl.Get(i%5, fmt.Sprintf("key-%d", i))
		}
		cl.Drain()
	}},
	{"same key on two nodes", fork, func(cl *Cluster) {
		cl.Put(4, "k", "of node 4")
		cl.Put(1, "k", "of node 1")
		cl.Put(0, "k", "of node 0")
		cl.everywhere("k")
		cl.Fence()
		cl.state("k", "of node 4")
		cl.everywhere("k")
	}},
	{"same key twice on a node", fork, func(cl *Cluster) {
		cl.Put(2, "k", "first")
		cl.Put(2, "k", "second")
		cl.everywhere("k")
		cl.Fence()
		cl.state("k", "second")
		cl.everywhere("k")
	}},
	{"overwritten in later epochs", fork, func(cl *Cluster) {
		for e := range 5 {
			cl.Put(4-e, "k", fmt.Sprintf("epoch %d", e))
			cl.Put(e, fmt.Sprintf("k%d", e), "stays")
			cl.everywhere("k") // the old value elsewhere, the new one there
			cl.Fence()
			cl.everywhere("k", "k0", "k1", "k2", "k3", "k4")
		}
	}},
	{"put while a fence is under way", fork, func(cl *Cluster) {
		cl.Put(2, "k", "this fence")
		cl.Enter(2)
		cl.Enter(2)
		cl.Put(2, "k", "next fence")
		cl.Put(2, "late", "next fence")
		cl.Drain()
		cl.everywhere("k", "late")
		cl.Fence()
		cl.state("k", "this fence")
		cl.everywhere("k", "late")
		cl.Fence()
		cl.state("k", "next fence")
		cl.everywhere("k", "late")
	}},
	{"asked for, then put", fork, func(cl *Cluster) {
		for e := range 3 {
			cl.everywhere("k0", "k1", "k2")
			cl.Put(3, fmt.Sprintf("k%d", e), "v")
			cl.everywhere("k0", "k1", "k2")
			cl.Fence()
			cl.everywhere("k0", "k1", "k2")
		}
	}},
	{"hundreds put again and asked for", fork, func(cl *Cluster) {
		for e := range 3 {
			for i := range 400 {
				cl.Put(i%5, fmt.Sprintf("key-%d", i), fmt.Sprintf("epoch %d", e))
			}
			cl.Fence()
			for i := range 400 {
				cl.Get((i+1)%5, fmt.Sprintf("key-%d", i))
				cl.Get((i+1)%5, fmt.Sprintf("none-%d", i))
			}
		}
	}},
	{"fence overtakes answers", fork, func(cl *Cluster) {
		keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		put := func(value string) {
			for _, key := range keys {
				cl.Put(4, key, value)
			}
		}
		put("old")
		cl.Fence()
		cl.Overlap = true
		for _, key := range append(keys, "none") {
			for at := range 4 {
				cl.Get(at, key)
			}
		}
		for _, l := range cl.Links() {
			for range len(l.queue) { // questions arrive, answers set out
				cl.Deliver(l)
			}
		}
		answers := cl.Links()
		put("new")
		cl.enterAll()
		cl.Drain(answers...)
		cl.Drain()
		cl.everywhere(append(keys, "none")...)
	}},
	{"long values", fork, func(cl *Cluster) {
		for i, n := range []int{0, 1, 127, 128, 1023, 1024, 4096} {
			cl.Put(i%5, fmt.Sprintf("k%d", n), strings.Repeat("\\ =", n)[:n])
		}
		cl.Fence()
		cl.everywhere("k0", "k1", "k127", "k128", "k1023", "k1024", "k4096")
	}},
	{"any bytes", fork, func(cl *Cluster) {
		cl.Put(1, "\x00\xff\n", "\n\x00\xff value=")
		cl.Fence()
		cl.everywhere("\x00\xff\n")
	}},
	{"leaf without ranks", Shape{Parent: []int{-1, 0, 0}, Ranks: []int{1, 0, 1}}, twoFences},
	{"inner node without ranks", Shape{Parent: []int{-1, 0, 1}, Ranks: []int{1, 0, 1}}, twoFences},
	{"root without ranks", Shape{Parent: []int{-1, 0, 0}, Ranks: []int{0, 1, 1}}, twoFences},
	{"subtree without ranks", Shape{Parent: []int{-1, 0, 1, 1, 0}, Ranks: []int{1, 0, 0, 0, 2}}, twoFences},
	{"only the last leaf has a rank", Shape{Parent: []int{-1, 0, 1, 0}, Ranks: []int{0, 0, 0, 1}}, twoFences},
	{"long chain", Chain(40, 1), twoFences},
}

// twoFences puts on every node that has ranks, twice over.
func twoFences(cl *Cluster) {
	for e := range 2 {
		for i, ranks := range cl.shape.Ranks {
			if ranks > 0 {
				cl.Put(i, fmt.Sprintf("of-%d", i), fmt.Sprintf("epoch %d", e))
				cl.Put(i, "shared", fmt.Sprintf("node %d", i))
			}
		}
		cl.Fence()
		cl.everywhere("of-0", "of-1", "of-2", "shared")
	}
}

// everywhere asks for keys at every node and drains.
func (cl *Cluster) everywhere(keys ...string) {
	cl.t.Helper()
	for i := range cl.nodes {
		for _, key := range keys {
			cl.Get(i, key)
		}
	}
	cl.Drain()
	cl.answered()
}

// state requires that the model's value of key is value, the point of a case.
func (cl *Cluster) state(key, value string) {
	cl.t.Helper()
	require.Equal(cl.t, value, cl.states[len(cl.states)-1][key], "winner of %q", key)
}

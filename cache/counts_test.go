package cache_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/cache/cachetest"
)

// counts are the numbers that docs/pmi.md derives, of one round on a tree in
// which every node has a rank: each put has a key of its own, which was never
// put before, and there is room for all.
type counts struct {
	Messages, Bytes     int // sent in all; bytes over every edge that they cross
	RootIn, RootInBytes int // received by the root
}

// add counts a message of size bytes that crosses edges edges.
func (c *counts) add(size, edges int, toRoot bool) {
	c.Messages++
	c.Bytes += size * edges
	if toRoot {
		c.RootIn++
		c.RootInBytes += size
	}
}

// pair is one put: where, and what.
type pair struct {
	node       int
	key, value string
}

// putRound is the puts of one round, in the order in which they are put on each
// node, and the gets after it.
type putRound struct {
	shape cachetest.Shape
	epoch int
	puts  []pair
	gets  []pair // node and key
	part  int    // cache.Config.MaxPart
}

func uvarint(n int) int { return len(binary.AppendUvarint(nil, uint64(n))) }

func keySize(p pair) int   { return uvarint(len(p.key)) + len(p.key) }
func entrySize(p pair) int { return keySize(p) + uvarint(len(p.value)) + len(p.value) }

// below returns the sum of what the puts and the ranks of a subtree come to.
func (r putRound) below(top int) (ranks, entries int) {
	for node, n := range r.shape.Ranks {
		if r.shape.Below(node, top) {
			ranks += n
		}
	}
	for _, p := range r.puts {
		if r.shape.Below(p.node, top) {
			entries += entrySize(p)
		}
	}
	return ranks, entries
}

// fence counts what every policy but one has in common: one message up each
// edge and one down, up with the ranks inside. more are the sizes of what else
// is in them.
func (r putRound) fence(c *counts, up func(top int) int, down int) {
	for top := 1; top < len(r.shape.Parent); top++ {
		ranks, _ := r.below(top)
		c.add(1+uvarint(r.epoch)+uvarint(ranks)+up(top), 1, r.shape.Parent[top] == 0)
		c.add(1+uvarint(r.epoch)+down, 1, false)
	}
}

func (r putRound) home(p pair) int {
	return int(cache.Home("world", []byte(p.key), len(r.shape.Parent)))
}

// forPuts derives what the puts take, with their fence.
func (r putRound) forPuts(policy cache.Policy) (c counts) {
	nothing := func(int) int { return 0 }
	entries := func(top int) int { _, e := r.below(top); return e }
	const drop = 1 // "drop all: no", and no key
	switch policy {
	case cache.HCS:
		for _, p := range r.puts {
			for at := p.node; at > 0; at = r.shape.Parent[at] {
				c.add(1+uvarint(r.epoch)+entrySize(p), 1, r.shape.Parent[at] == 0)
			}
		}
		r.fence(&c, nothing, drop)
	case cache.HCMA:
		r.fence(&c, entries, drop)
	case cache.HCMAB:
		r.fence(&c, entries, entries(0))
	case cache.HCMABLRU:
		parts := r.parts()
		r.fence(&c, entries, parts[0])
		for _, size := range parts[1:] {
			for range len(r.shape.Parent) - 1 {
				c.add(1+uvarint(r.epoch)+size, 1, false)
			}
		}
	case cache.Distributed:
		sizes := map[[2]int]int{} // by node and home
		for _, p := range r.puts {
			if home := r.home(p); home != p.node {
				sizes[[2]int{p.node, home}] += entrySize(p)
			}
		}
		for ends, size := range sizes {
			edges := r.shape.Distance(ends[0], ends[1])
			c.add(1+uvarint(r.epoch)+size, edges, ends[1] == 0)
			c.add(1+uvarint(r.epoch)+drop, edges, ends[0] == 0) // accepted
		}
		r.fence(&c, func(int) int { return drop }, drop)
	}
	return c
}

// parts returns the sizes of the entries in each message of a streamed broadcast.
func (r putRound) parts() []int {
	parts := []int{0}
	head := 1 + uvarint(r.epoch)
	for node := range r.shape.Parent { // pre-order
		for _, p := range r.puts {
			if p.node != node {
				continue
			}
			last := &parts[len(parts)-1]
			if *last > 0 && head+*last+entrySize(p) > r.part {
				parts = append(parts, 0)
				last = &parts[len(parts)-1]
			}
			*last += entrySize(p)
		}
	}
	return parts
}

// forGets derives what the gets after the fence take.
func (r putRound) forGets(policy cache.Policy) (c counts) {
	put := map[string]pair{}
	for _, p := range r.puts {
		put[p.key] = p
	}
	ask := func(p pair, edges int, up, down bool) {
		c.add(1+uvarint(r.epoch+1)+keySize(p), edges, up)
		c.add(1+uvarint(r.epoch+1)+entrySize(p), edges, down)
	}
	asked := map[string]bool{}
	for _, g := range r.gets {
		p := put[g.key]
		switch policy {
		case cache.HCS, cache.HCMA:
			for at := g.node; !r.shape.Below(p.node, at); at = r.shape.Parent[at] {
				if edge := fmt.Sprint(at, p.key); !asked[edge] {
					asked[edge] = true
					ask(p, 1, r.shape.Parent[at] == 0, false)
				}
			}
		case cache.Distributed:
			home := r.home(p)
			if edge := fmt.Sprint(g.node, p.key); p.node != g.node && home != g.node && !asked[edge] {
				asked[edge] = true
				ask(p, r.shape.Distance(g.node, home), home == 0, g.node == 0)
			}
		}
	}
	return c
}

// counted returns the cluster's traffic since before.
func counted(cl *cachetest.Cluster, before cachetest.Traffic, root cache.Stats) counts {
	t, now := cl.Traffic().Minus(before), cl.Stats(0)
	return counts{Messages: t.Messages, Bytes: t.Bytes, RootIn: int(now.Received - root.Received), RootInBytes: int(now.ReceivedBytes - root.ReceivedBytes)}
}

// Boards send the messages that docs/pmi.md derives, to the byte.
func TestCountsAreThoseDerived(t *testing.T) {
	for _, policy := range cache.Policies() {
		t.Run(string(policy), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				shape := cachetest.Tree(rapid.IntRange(1, 30).Draw(t, "nodes"), rapid.IntRange(1, 5).Draw(t, "degree"), 1)
				for i := range shape.Ranks {
					shape.Ranks[i] = rapid.IntRange(1, 4).Draw(t, "ranks")
				}
				part := rapid.SampledFrom([]int{150, 1000, 1 << 20}).Draw(t, "part")
				cl := cachetest.NewCluster(t, cache.Config{Policy: policy, Budget: 1 << 30, MaxPart: part}, shape)
				for epoch := range 2 {
					r := putRound{shape: shape, epoch: epoch, part: part}
					draw(t, &r)
					before, root := cl.Traffic(), cl.Stats(0)
					for _, p := range r.puts {
						cl.Put(p.node, p.key, p.value)
					}
					cl.Fence()
					require.Equal(t, r.forPuts(policy), counted(cl, before, root), "puts and fence of epoch %d", epoch)
					before, root = cl.Traffic(), cl.Stats(0)
					for _, g := range r.gets {
						cl.Get(g.node, g.key)
						if rapid.Bool().Draw(t, "drain") {
							cl.Drain()
						}
					}
					cl.Drain()
					require.Equal(t, r.forGets(policy), counted(cl, before, root), "gets of epoch %d", epoch)
				}
			})
		})
	}
}

// draw draws the puts and gets of a round.
func draw(t *rapid.T, r *putRound) {
	for node, ranks := range r.shape.Ranks {
		for i := range rapid.IntRange(0, 2*ranks).Draw(t, "puts") {
			r.puts = append(r.puts, pair{node, fmt.Sprint("key-", r.epoch, "-", node, "-", i),
				strings.Repeat("v", rapid.SampledFrom([]int{0, 1, 127, 128, 300}).Draw(t, "length"))})
		}
	}
	if len(r.puts) == 0 {
		return
	}
	for node, ranks := range r.shape.Ranks {
		for range ranks { // as many as ranks, which do not overlap
			p := rapid.SampledFrom(r.puts).Draw(t, "get")
			r.gets = append(r.gets, pair{node: node, key: p.key})
		}
	}
}

// The root's messages of one round as docs/pmi.md prints them: p ranks, c0 of
// them at the root, which has k children, n puts each.
func TestRootsMessages(t *testing.T) {
	const n = 3
	for _, shape := range []cachetest.Shape{
		cachetest.Tree(64, 8, 8), cachetest.Tree(5, 8, 2), cachetest.Chain(4, 3), cachetest.Tree(1, 4, 4),
	} {
		r := putRound{shape: shape, part: 1 << 30}
		k := 0
		for node, ranks := range shape.Ranks {
			if node > 0 && shape.Parent[node] == 0 {
				k++
			}
			for i := range ranks * n {
				r.puts = append(r.puts, pair{node, fmt.Sprint(node, "-", i), "v"})
			}
		}
		p, c0, nodes := shape.Size(), shape.Ranks[0], len(shape.Parent)
		require.Equal(t, (p-c0)*n+k, r.forPuts(cache.HCS).RootIn)
		require.Equal(t, k, r.forPuts(cache.HCMA).RootIn)
		require.Equal(t, k, r.forPuts(cache.HCMAB).RootIn)
		require.Equal(t, 2*(nodes-1), r.forPuts(cache.HCMA).Messages)
		require.Equal(t, 2*(nodes-1), r.forPuts(cache.HCMAB).Messages)
		require.Equal(t, 2*(nodes-1), r.forPuts(cache.HCMABLRU).Messages)
	}
}

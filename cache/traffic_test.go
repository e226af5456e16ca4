package cache_test

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/cache/cachetest"
)

// exchange is ScELA's measure of a cache (sections 3.3.1 and 3.3.2): each rank
// puts one entry, all fence, and each rank gets those of peers.
type exchange struct {
	shape cachetest.Shape
	nodes []int // by rank: its node
	peers int   // ranks above it, modulo their number, that each rank asks for
}

func newExchange(shape cachetest.Shape, peers int) exchange {
	x := exchange{shape: shape, peers: peers}
	for node, ranks := range shape.Ranks {
		for range ranks {
			x.nodes = append(x.nodes, node)
		}
	}
	return x
}

const valueLength = 100

func key(round, rank int) string { return fmt.Sprintf("P%d-businesscard-%d", rank, round) }

// put puts the entries of a round.
func (x exchange) put(cl *cachetest.Cluster, round int) {
	for rank, node := range x.nodes {
		cl.Put(node, key(round, rank), strings.Repeat("v", valueLength))
	}
	cl.Fence()
}

// get asks for peers' entries of a round, all ranks side by side.
func (x exchange) get(cl *cachetest.Cluster, round int) {
	for i := range x.peers {
		for rank, node := range x.nodes {
			cl.Get(node, key(round, (rank+i+1)%len(x.nodes)))
		}
		cl.Drain()
	}
}

// asked counts the different keys for which of is true that ranks on the nodes where on
// is true ask for, without those that were put on these nodes.
func (x exchange) asked(on func(node int) bool, of func(key string) bool) int {
	keys := map[int]bool{}
	for rank, node := range x.nodes {
		for i := range x.peers {
			if peer := (rank + i + 1) % len(x.nodes); on(node) && !on(x.nodes[peer]) && of(key(0, peer)) {
				keys[peer] = true
			}
		}
	}
	return len(keys)
}

func (x exchange) home(key string) int {
	return int(cache.Home("world", []byte(key), len(x.shape.Parent)))
}

// expected returns the messages that a policy takes for the puts with their fence, and
// for the gets after it.
func (x exchange) expected(policy cache.Policy) (puts, gets int) {
	fence := 2 * (len(x.shape.Parent) - 1)
	switch policy {
	case cache.HCMAB, cache.HCMABLRU:
		return fence, 0
	case cache.Distributed:
		homes := map[[2]int]bool{} // pairs of a node and a home it puts to
		for rank, node := range x.nodes {
			if home := x.home(key(0, rank)); home != node {
				homes[[2]int{node, home}] = true
			}
		}
		for node := range x.shape.Parent {
			gets += 2 * x.asked(func(n int) bool { return n == node }, func(key string) bool { return x.home(key) != node })
		}
		return fence + 2*len(homes), gets
	}
	if policy == cache.HCS {
		for _, node := range x.nodes {
			puts += x.shape.Depth(node)
		}
	}
	for top := range len(x.shape.Parent) - 1 {
		gets += 2 * x.asked(func(n int) bool { return x.shape.Below(n, top+1) }, func(string) bool { return true })
	}
	return fence + puts, gets
}

// Messages and bytes of each policy. The counts of messages are exact; the log has the
// table (go test -v -run Traffic ./cache).
func TestTraffic(t *testing.T) {
	const head = "policy\tputs+fence: messages\tedges\tkB\tat root\tgets: messages\tedges\tkB\tat root\tkB held: root\tmost of the others\t\n"
	for _, x := range []exchange{
		newExchange(cachetest.Tree(16, 4, 8), 2),
		newExchange(cachetest.Tree(64, 4, 8), 2),
		newExchange(cachetest.Tree(256, 8, 4), 2),
		newExchange(cachetest.Chain(16, 8), 2),
		newExchange(cachetest.Tree(16, 4, 8), 128),
	} {
		var b strings.Builder
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(w, head)
		for _, policy := range cache.Policies() {
			cl := cachetest.NewCluster(t, cache.Config{Policy: policy, Budget: cache.OneRound}, x.shape)
			cl.Drain()
			begin := cl.Traffic()
			x.put(cl, 0)
			puts := cl.Traffic().Minus(begin)
			x.get(cl, 0)
			gets := cl.Traffic().Minus(begin).Minus(puts)
			wantPuts, wantGets := x.expected(policy)
			require.Equal(t, wantPuts, puts.Messages, "%s: messages for puts and fence", policy)
			require.Equal(t, wantGets, gets.Messages, "%s: messages for gets", policy)
			most := 0
			for i := range len(x.shape.Parent) - 1 {
				most = max(most, cl.Stats(i+1).Resident)
			}
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", policy,
				puts.Messages, puts.Edges, kB(puts.Bytes), puts.AtRoot, gets.Messages, gets.Edges, kB(gets.Bytes), gets.AtRoot,
				kB(cl.Stats(0).Resident), kB(most))
		}
		w.Flush()
		depth := 0
		for i := range x.shape.Parent {
			depth = max(depth, x.shape.Depth(i))
		}
		t.Logf("%d nodes, depth %d, %d ranks, one put of %d bytes and %d gets each:\n%s",
			len(x.shape.Parent), depth, len(x.nodes), valueLength, x.peers, b.String())
	}
}

// ScELA table 3.1: the memory of a cache after n rounds of one put per rank.
// With the budget of one round hcmab-lru and distributed keep to it and their
// share of the keys.
func TestMemoryOverRounds(t *testing.T) {
	x := newExchange(cachetest.Tree(16, 4, 8), 2)
	round := len(x.nodes) * (len(key(0, len(x.nodes))) + valueLength + 128)
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "policy\tkB after 1 round\t2\t4\t8\t16\t\n")
	for _, policy := range cache.Policies() {
		cl := cachetest.NewCluster(t, cache.Config{Policy: policy, Budget: round}, x.shape)
		fmt.Fprint(w, policy)
		for n := range 16 {
			x.put(cl, n)
			x.get(cl, n)
			most := 0
			for i := range x.shape.Parent {
				most = max(most, cl.Stats(i).Resident)
			}
			if n&(n+1) == 0 {
				fmt.Fprintf(w, "\t%d", kB(most))
			}
			if policy.UsesHomes() {
				require.Less(t, most, round+3*(n+1)*round/len(x.shape.Parent), "%s after %d rounds", policy, n+1)
			}
		}
		fmt.Fprintln(w, "\t")
	}
	w.Flush()
	t.Logf("most held by a node, %d nodes, %d ranks, budget %d kB:\n%s", len(x.shape.Parent), len(x.nodes), kB(round), b.String())
}

func kB(bytes int) int { return (bytes + 500) / 1000 }

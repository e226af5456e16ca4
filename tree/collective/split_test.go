package collective_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// choice is a member's part in a split.
type choice struct{ color, key int }

// group is the members of a communicator, in order.
type group []*simEnd

// oracle returns the definition of a split of a group.
func oracle(g group, choices []choice) map[int]group {
	order := make([]int, len(g))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(choices[a].key, choices[b].key) })
	classes := map[int]group{}
	for _, i := range order {
		if c := choices[i].color; c >= 0 {
			classes[c] = append(classes[c], g[i])
		}
	}
	return classes
}

// commsByEnd are the communicators of endpoints in some role.
type commsByEnd map[*simEnd]*member.Comm

func (c commsByEnd) of(e *simEnd) *member.Comm { return c[e] }

// split splits a group and checks ranks and sizes against the oracle.
func (s *sim) split(t require.TestingT, g group, old commsByEnd, choices []choice) (map[int]group, commsByEnd) {
	requests := make([]*member.Request, len(g))
	for i, e := range g {
		s.do(e, func() { requests[i] = old[e].Split(choices[i].color, choices[i].key) })
	}
	s.run()
	require.Empty(t, s.faults)
	classes, made := oracle(g, choices), commsByEnd{}
	place := map[*simEnd]int{}
	for _, list := range classes {
		for i, e := range list {
			place[e] = i
		}
	}
	for i, e := range g {
		done, err := requests[i].Done()
		require.True(t, done, "member %d: the split hangs", i)
		require.NoError(t, err)
		c := requests[i].Made()
		if choices[i].color < 0 {
			require.Nil(t, c)
			continue
		}
		require.Equal(t, place[e], c.Rank(), "member %d", i)
		require.Equal(t, len(classes[choices[i].color]), c.Size(), "member %d", i)
		made[e] = c
	}
	return classes, made
}

// locate has some members look others up, and checks who they find.
func (s *sim) locate(t require.TestingT, g group, c commsByEnd, lookups int) {
	type look struct {
		q    *member.Request
		want *simEnd
	}
	var looks []look
	for range lookups {
		from, to := g[s.rng.IntN(len(g))], s.rng.IntN(len(g))
		at := len(looks)
		looks = append(looks, look{want: g[to]})
		s.do(from, func() { looks[at].q = c[from].Locate(to) })
	}
	s.run()
	for _, x := range looks {
		done, err := x.q.Done()
		require.True(t, done, "a look-up hangs")
		require.NoError(t, err)
		rank, node := x.q.Location()
		require.Equal(t, []int{x.want.id, x.want.node}, []int{rank, node})
	}
}

// drawChoices draws colours, few or many, some undefined, and keys, equal or not.
func drawChoices(t *rapid.T, rng interface{ IntN(int) int }, members int) []choice {
	colors := rapid.SampledFrom([]int{1, 2, 5, 1 << 20}).Draw(t, "colours")
	keys := rapid.SampledFrom([]int{1, 3, 1 << 20}).Draw(t, "keys")
	undefined := rapid.SampledFrom([]int{0, 0, 3, 10}).Draw(t, "undefined of ten")
	ranges := rapid.Bool().Draw(t, "ranges")
	list := make([]choice, members)
	for i := range list {
		list[i] = choice{rng.IntN(colors), rng.IntN(2*keys) - keys}
		if ranges {
			list[i] = choice{i * min(colors, members) / members, 0}
		}
		if rng.IntN(10) < undefined {
			list[i].color = member.Undefined
		}
	}
	return list
}

// TestSplitAgainstTheOracle splits communicators of every kind, and what comes of
// it again, uses what it made for every operation, looks members up, frees it.
func TestSplitAgainstTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 24).Draw(t, "nodes")
		degree := rapid.SampledFrom([]int{2, 3, 4, 8, 128}).Draw(t, "degree")
		ranks := rapid.IntRange(1, 60).Draw(t, "ranks")
		place := make([]int, ranks)
		order := rapid.SampledFrom([]string{"blocks", "any", "one each"}).Draw(t, "placement")
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		if order == "one each" {
			ranks = nodes
			place = blocks(nodes, 1)
		}
		for i := range place {
			switch order {
			case "blocks":
				place[i] = i * nodes / ranks
			case "any":
				place[i] = rng.IntN(nodes)
			}
		}
		price := commsplit.Costs{ // any: a different algorithm for each
			Latency: rapid.Float64Range(0, 1e4).Draw(t, "latency"),
			Message: rapid.Float64Range(0, 1e4).Draw(t, "message"),
			Byte:    rapid.Float64Range(0, 100).Draw(t, "byte"),
			Row:     rapid.Float64Range(0, 100).Draw(t, "row"),
			Search:  rapid.Float64Range(0, 100).Draw(t, "search"),
		}
		s := newSimCosts(rng, nodes, degree, place, func(int) commsplit.Costs { return price })
		g, c := group(s.ends[:ranks]), commsByEnd{}
		switch rapid.IntRange(0, 2).Draw(t, "communicator") {
		case 0:
			for _, e := range g {
				c[e] = e.World()
			}
		case 1:
			g = s.ends[ranks:]
			for _, e := range g {
				c[e] = e.Agents()
			}
		case 2:
			var of func(*simEnd) *member.Comm
			g, of = s.subset(t)
			for _, e := range g {
				c[e] = of(e)
			}
		}
		before := s.communicators()
		for range rapid.IntRange(1, 3).Draw(t, "levels") {
			classes, made := s.split(t, g, c, drawChoices(t, rng, len(g)))
			var biggest group
			for _, color := range sortedKeys(classes) {
				s.locate(t, classes[color], made, 5)
				if len(classes[color]) > len(biggest) {
					biggest = classes[color]
				}
			}
			if len(biggest) == 0 {
				break
			}
			var program []step
			for range rapid.IntRange(1, 6).Draw(t, "steps") {
				program = append(program, step{
					op:   rapid.SampledFrom(allOps).Draw(t, "op"),
					root: rapid.IntRange(0, len(biggest)-1).Draw(t, "root"),
					size: rapid.SampledFrom([]int{0, 8, 3000, 100_000}).Draw(t, "size"),
				})
			}
			results := play(s, biggest, made.of, program, 3)
			s.run()
			s.check(t, results, program)
			for _, color := range sortedKeys(classes) {
				if !slices.Equal(classes[color], biggest) {
					s.free(t, classes[color], made)
				}
			}
			if len(g) != 0 && len(c) != 0 && c[g[0]] != g[0].World() && c[g[0]] != g[0].Agents() {
				s.free(t, g, c) // the new ones do not need the one that was split
			}
			g, c = biggest, made
		}
		if c[g[0]] != g[0].World() && c[g[0]] != g[0].Agents() {
			s.free(t, g, c)
		}
		require.LessOrEqual(t, s.communicators(), before, "communicators are left")
		for _, n := range s.nodes {
			require.True(t, n.Forgotten(), "node %d still holds something", n.index)
		}
	})
}

func sortedKeys(m map[int]group) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// communicators counts those that nodes know.
func (s *sim) communicators() int {
	n := 0
	for _, x := range s.nodes {
		n += x.Communicators()
	}
	return n
}

// free frees a group's communicator.
func (s *sim) free(t require.TestingT, g group, c commsByEnd) {
	for _, e := range g {
		s.do(e, func() { c[e].Free() })
	}
	s.run()
	require.Empty(t, s.faults)
}

// TestSplitAtScale splits many ranks by colour and key, and once more what came
// of it, and prints what passed the root and what nodes hold.
func TestSplitAtScale(t *testing.T) {
	for _, x := range []struct{ nodes, each, degree, colors int }{{nodes: 128, each: 8, degree: 8, colors: 5}, {nodes: 256, each: 16, degree: 16, colors: 1}, {nodes: 4096, each: 16, degree: 16, colors: 7}} {
		t.Run(fmt.Sprintf("%d nodes, %d ranks each, %d colours", x.nodes, x.each, x.colors), func(t *testing.T) {
			if x.nodes > 1000 && !*large {
				t.Skip("skipped: takes minutes of a processor and 4 GB; run with -large")
			}
			s := newSim(seeded(1), x.nodes, x.degree, blocks(x.nodes, x.each))
			g, c := group(s.ends[:s.ranks]), commsByEnd{}
			choices := make([]choice, len(g))
			for i, e := range g {
				c[e] = e.World()
				choices[i] = choice{s.rng.IntN(x.colors), s.rng.IntN(1<<31) - 1<<30}
			}
			classes, made := s.split(t, g, c, choices)
			way, rows := 0, 0
			for _, n := range s.nodes {
				directions, table := n.SplitBytes()
				way, rows = max(way, directions), max(rows, table)
			}
			t.Logf("through the root %d bytes; a node holds %d bytes of directions and %d of tables at most", s.toRoot+s.offRoot, way, rows)
			require.LessOrEqual(t, way, x.colors*40*(x.degree+3), "directions grow with the degree alone")
			require.LessOrEqual(t, rows, 2*16*(x.each+x.colors), "a node holds its share of the tables, 16 bytes a row")
			first := classes[0]
			s.locate(t, first, made, 200)
			program := []step{{"bcast", len(first) / 2, 100_000}, {"reduce", 1, 800}, {"barrier", 0, 0}}
			results := play(s, first, made.of, program, 2)
			s.run()
			s.check(t, results, program)
			for i := range first {
				choices[i] = choice{i % 3, -i}
			}
			nested, again := s.split(t, first, made, choices[:len(first)])
			s.locate(t, nested[2], again, 50)
		})
	}
}

// TestSplitAndLoss kills a node, and all below it, in the middle of a split and of
// look-ups: each ends, well or with an error that names the node; nobody waits for
// a member that has no communicator.
func TestSplitAndLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 20).Draw(t, "nodes")
		degree := rapid.IntRange(1, 5).Draw(t, "degree")
		each := rapid.IntRange(1, 3).Draw(t, "ranks per node")
		victim := rapid.IntRange(1, nodes-1).Draw(t, "victim")
		colors := rapid.SampledFrom([]int{1, 2, 7}).Draw(t, "colours")
		s := newSim(seeded(rapid.Uint64().Draw(t, "seed")), nodes, degree, blocks(nodes, each))
		leaver := rapid.IntRange(-1, s.ranks-1).Draw(t, "leaver")
		splitAndLoss(t, s, colors, victim, leaver, rapid.IntRange(0, 200*nodes).Draw(t, "when"))
	})
}

// TestSplitAndLossAtAnyStep is that for each step of one split in turn.
func TestSplitAndLossAtAnyStep(t *testing.T) {
	for seed := range uint64(9) {
		for when, over := 0, false; !over; when++ {
			s := newSim(seeded(seed), 7, 2, blocks(7, 1))
			over = splitAndLoss(t, s, 2, 2, []int{-1, 4, 6}[seed%3], when)
		}
	}
}

// splitAndLoss splits, and once more what came of it, kills a node after some steps, and reports whether nothing was under way
// any more.
func splitAndLoss(t require.TestingT, s *sim, colors, victim, leaver, when int) (over bool) {
	type outcome struct {
		what string
		q    *member.Request
	}
	outcomes := make([][]outcome, s.ranks)
	for i, e := range s.ends[:s.ranks] {
		var split func(old *member.Comm, key, levels int)
		split = func(old *member.Comm, key, levels int) {
			q := old.Split(i%colors, key)
			outcomes[i] = append(outcomes[i], outcome{"split", q})
			q.OnDone = func() {
				s.do(e, func() {
					c := q.Made()
					if c == nil {
						return
					}
					if i == leaver {
						s.leave(e, left(i))
						return
					}
					for r := range c.Size() {
						outcomes[i] = append(outcomes[i], outcome{"look-up", c.Locate(r)})
					}
					outcomes[i] = append(outcomes[i], outcome{"barrier", c.Barrier()}, outcome{"bcast", c.Bcast(0, make([]byte, 100))},
						outcome{"scatter", c.Scatter(0, make([]byte, 8*c.Size()), make([]byte, 8))})
					if levels > 1 {
						split(c, i, levels-1)
					}
				})
			}
		}
		s.do(e, func() { split(e.World(), -i, 2) })
	}
	for range when {
		over = !s.step()
	}
	s.kill(victim)
	s.run()
	require.Empty(t, s.faults)
	whys := []string{fmt.Sprintf("node %d is lost", victim), left(leaver)}
	for i, list := range outcomes {
		if s.nodes[s.ends[i].node].dead || i == leaver {
			continue
		}
		for _, x := range list {
			done, err := x.q.Done()
			require.True(t, done, "rank %d: %s hangs", i, x.what)
			if err != nil {
				require.Contains(t, whys, err.Error(), "rank %d: %s", i, x.what)
			}
		}
	}
	for _, n := range s.nodes {
		require.True(t, n.dead || n.Settled(), "node %d still works on something", n.index)
	}
	return over
}

// TestSplitRefuses shows what members learn that cannot have what they ask for.
func TestSplitRefuses(t *testing.T) {
	s := newSim(seeded(1), 3, 2, blocks(3, 1))
	for _, q := range []*member.Request{
		s.ends[0].World().Split(-2, 0), s.ends[0].World().Split(1<<31, 0), s.ends[0].World().Split(0, 1<<31), s.ends[0].World().Locate(3),
	} {
		done, err := q.Done()
		require.True(t, done)
		require.Error(t, err)
	}
	errs := make([]error, 3)
	for i := range errs {
		s.do(s.ends[i], func() {
			var q *member.Request
			if i == 1 {
				q = s.ends[i].World().Barrier()
			} else {
				q = s.ends[i].World().Split(0, i)
			}
			q.OnDone = func() { _, errs[i] = q.Done() }
		})
	}
	s.run()
	require.Empty(t, s.faults)
	for i, err := range errs {
		require.ErrorContains(t, err, "operation 0 of the world: ", "rank %d", i)
	}
}

// TestRanksThatAreNumbers splits by equal keys, and by others: only where ranks do not follow the
// order of the tree is there a table.
func TestRanksThatAreNumbers(t *testing.T) {
	for key, tables := range map[int]int{0: 0, -1: 5} {
		s := newSim(seeded(1), 5, 2, blocks(5, 3))
		g, c := group(s.ends[:s.ranks]), commsByEnd{}
		choices := make([]choice, len(g))
		for i, e := range g {
			c[e], choices[i].key = e.World(), i*key
		}
		classes, made := s.split(t, g, c, choices)
		s.locate(t, classes[0], made, 50)
		for _, n := range s.nodes {
			if n.TableOf() != 0 {
				tables--
			}
		}
		require.Zero(t, tables, "nodes with a part of a table")
	}
}

// TestOthersHearNothing splits by the subtrees of two children, breaks or frees the communicator
// of one: nothing of that leaves the subtree.
func TestOthersHearNothing(t *testing.T) {
	for _, freed := range []bool{true, false} {
		s := newSim(seeded(1), 7, 2, blocks(7, 1)) // the root, 1 with 2 and 3, and 4 with 5 and 6
		g, c := group(s.ends[:7]), commsByEnd{}
		choices := make([]choice, len(g))
		for i, e := range g {
			c[e], choices[i] = e.World(), choice{(i + 2) / 3, -i}
		}
		classes, made := s.split(t, g, c, choices)
		for _, n := range s.nodes[1:] {
			n.up.puts, n.down.puts = 0, 0
		}
		if freed {
			s.free(t, classes[1], made)
		} else {
			var q *member.Request
			s.do(s.ends[3], func() { made[s.ends[3]].Bcast(0, make([]byte, 8)) })
			s.do(s.ends[2], func() { q = made[s.ends[2]].Barrier() }) // node 2 finds out, and tells its parent
			s.run()
			require.ErrorContains(t, s.outcomes(t, q)[0], "member 1 calls barrier; member 0 calls bcast")
		}
		for _, n := range s.nodes[1:] {
			inside := n.index == 2 || n.index == 3
			require.Equal(t, inside, n.up.puts+n.down.puts > 0, "node %d: its link to the parent is used", n.index)
		}
	}
}

// TestSplitBesideAnotherOperation has a member split what another does something else with, so that
// neither hears of the other but by messages of the sort.
func TestSplitBesideAnotherOperation(t *testing.T) {
	s := newSim(seeded(1), 2, 1, blocks(2, 1))
	var one, other *member.Request
	s.do(s.ends[0], func() { one = s.ends[0].World().Barrier() })
	s.do(s.ends[1], func() { other = s.ends[1].World().Split(0, 0) })
	s.run()
	for _, err := range s.outcomes(t, one, other) {
		require.ErrorContains(t, err, "operation 0 of the world: ")
	}
}

// TestPieceOfASplitThatIsOver has an agent send one: nothing is kept of it.
func TestPieceOfASplitThatIsOver(t *testing.T) {
	s := newSim(seeded(1), 2, 1, blocks(2, 2))
	s.shuffled(t)
	n := s.nodes[0]
	n.Receive(0, record.Append(nil, &record.Record{Kind: record.Piece, Op: record.Split, Src: 1, Count: 1, Off: 5, Size: 100, Body: make([]byte, 10)}))
	require.Empty(t, flushed(n.Node).Faults)
	require.True(t, n.Forgotten())
}

// TestSplitsAreLimited makes communicators until there are too many.
func TestSplitsAreLimited(t *testing.T) {
	s := newSim(seeded(1), 2, 2, blocks(2, 1))
	failed := make([]error, 2)
	for n := 0; failed[0] == nil; n++ {
		require.LessOrEqual(t, n, collective.MaxCommunicators)
		for i := range 2 {
			s.do(s.ends[i], func() {
				q := s.ends[i].World().Split(0, 0)
				q.OnDone = func() { _, failed[i] = q.Done() }
			})
		}
		s.run()
	}
	for _, err := range failed {
		require.ErrorContains(t, err, "free some")
	}
	b := s.ends[0].World().Barrier()
	s.drain(s.ends[0])
	s.do(s.ends[1], func() { s.ends[1].World().Barrier() })
	s.run()
	done, err := b.Done()
	require.True(t, done)
	require.NoError(t, err, "what was split works on")
}

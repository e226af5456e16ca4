package netsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// drawCosts draws costs, some of them none.
func drawCosts(t *rapid.T) Costs {
	return Costs{
		Startup: rapid.SampledFrom([]float64{0, 1e-6, 1e-3}).Draw(t, "startup"),
		Rate:    rapid.SampledFrom([]float64{0, 1e9}).Draw(t, "rate"),
		Inject:  rapid.SampledFrom([]float64{0, 3.25e9, 1e8}).Draw(t, "inject"),
	}
}

// bound returns the least time that a link, or a host, takes for messages.
func bound(t require.TestingT, n *Network, c Costs, messages []Message) float64 {
	l := NewLoad(n)
	require.NoError(t, l.Add(messages))
	var most float64
	for _, link := range l.Used() {
		most = max(most, float64(l.On(link))/c.rate(n, link))
	}
	if c.Inject > 0 {
		out, in := map[topology.Node]int64{}, map[topology.Node]int64{}
		for _, m := range messages {
			if from, to := n.Host(m.From), n.Host(m.To); from != to {
				out[from] += m.Size
				in[to] += m.Size
				most = max(most, float64(out[from])/c.Inject, float64(in[to])/c.Inject)
			}
		}
	}
	return most
}

// Nothing takes less time than its busiest link and its start-ups, with barriers
// stage by stage; other traffic takes no time away.
func TestTimeIsAboveTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, c := drawNetwork(t), drawCosts(t)
		s := drawSchedule(t, n.Ranks(), "messages")
		var all []Message
		var sum float64
		for i := range s.Stages {
			messages := s.Append(nil, i)
			all = append(all, messages...)
			begun, most := map[int32]int{}, 0
			for _, m := range messages {
				if m.From != m.To {
					begun[m.From]++
					most = max(most, begun[m.From])
				}
			}
			sum += max(bound(t, n, c, messages), float64(most)*c.Startup)
		}
		by := Progress{Barrier: rapid.Bool().Draw(t, "barrier")}
		if rapid.Bool().Draw(t, "background") {
			by.Background = &Background{n, drawSchedule(t, n.Ranks(), "background")}
		}
		got, err := Simulate(n, s, c, by)
		require.NoError(t, err)
		require.GreaterOrEqual(t, got.Seconds*(1+1e-9), bound(t, n, c, all))
		if by.Barrier {
			require.GreaterOrEqual(t, got.Seconds*(1+1e-9), sum)
		}
		for _, ended := range got.Ended {
			require.LessOrEqual(t, ended, got.Seconds)
		}
	})
}

// With barriers, and one message of one size for each rank, a stage takes what its
// degree says: the model and the simulation agree.
func TestBarriersTakeWhatTheModelSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := router(t, rapid.SampledFrom(words).Draw(t, "network"))
		n := shuffled(t, r, rapid.Uint64().Draw(t, "seed"))
		q := rapid.SampledFrom(routing.Sequences(n.Ranks())).Draw(t, "sequence")
		s := Permutations(q, 1+rapid.Int64Range(0, 1<<20).Draw(t, "size"))
		c := drawCosts(t)
		c.Inject = 0
		costs, err := c.Cost(n, s)
		require.NoError(t, err)
		got, err := Simulate(n, s, c, Progress{Barrier: true})
		require.NoError(t, err)
		var sum float64
		for i, cost := range costs {
			sum += cost.Seconds
			require.InEpsilon(t, sum, got.Ended[i], 1e-6)
		}
		if len(costs) > 0 {
			require.InEpsilon(t, sum, got.Seconds, 1e-6)
		}
	})
}

// Empty messages take start-ups alone: the time is the longest path.
func TestLongestPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNetwork(t)
		var stages [][]Message
		at := make([]float64, n.Ranks()) // when a rank begins the stage
		for range rapid.IntRange(0, 6).Draw(t, "stages") {
			messages := drawMessages(t, n.Ranks(), "messages")
			sent, through := map[int32]int{}, append([]float64(nil), at...)
			for i := range messages {
				m := &messages[i]
				if m.Size = 0; m.From != m.To {
					sent[m.From]++
					arrives := at[m.From] + float64(sent[m.From])
					through[m.From] = max(through[m.From], arrives)
					through[m.To] = max(through[m.To], arrives)
				}
			}
			stages, at = append(stages, messages), through
		}
		var longest float64
		for _, x := range at {
			longest = max(longest, x)
		}
		got, err := Simulate(n, schedule(n.Ranks(), stages...), Costs{Startup: 1}, Progress{})
		require.NoError(t, err)
		require.InDelta(t, longest, got.Seconds, 1e-6)
	})
}

// Rates are max–min fair at each time, whatever flows came and went before: no
// link carries more than it can, and each flow goes over a link that is full and on
// which none gets more.
func TestSharesAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.SliceOfN(rapid.Float64Range(1, 100), 1, 8).Draw(t, "rates")
		s, now := newShares(rates), 0.0
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			if len(s.flows) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				s.remove(s.flows[rapid.IntRange(0, len(s.flows)-1).Draw(t, "which")])
			} else {
				over := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(len(rates)-1)), 1, 4, rapid.ID).Draw(t, "over")
				s.add(&flow{over: over, left: 1000}, now)
			}
			s.divide(now)
			now++
			on := make([]float64, len(rates))
			for _, f := range s.flows {
				for _, l := range f.over {
					on[l] += f.rate
				}
			}
			for l := range rates {
				require.LessOrEqual(t, on[l], rates[l]*(1+1e-6))
			}
			for _, f := range s.flows {
				fair := false
				for _, l := range f.over {
					most := 0.0
					for _, other := range s.on[l] {
						most = max(most, other.rate)
					}
					fair = fair || on[l] >= rates[l]*(1-1e-6) && f.rate >= most*(1-1e-6)
				}
				require.True(t, fair, "%v of %v", f, rates)
			}
		}
	})
}

// Two flows share a link until one has ended, and then the other has it alone.
func TestRatesFollowFlows(t *testing.T) {
	n := inOrder(t, router(t, "fattree:4/1/1"))
	one, both := []Message{{0, 1, 3e9}}, []Message{{0, 1, 3e9}, {2, 1, 1e9}}
	seconds := func(s Schedule, c Costs, by Progress) float64 {
		got, err := Simulate(n, s, c, by)
		require.NoError(t, err)
		return got.Seconds
	}
	c := Costs{Rate: 1e9}
	assert.InDelta(t, 3, seconds(schedule(4, one), c, Progress{}), 1e-6)
	assert.InDelta(t, 4, seconds(schedule(4, both), c, Progress{}), 1e-6)
	c.Startup = 0.5
	assert.InDelta(t, 4.5, seconds(schedule(4, both), c, Progress{}), 1e-6)
	c.Startup, c.Inject = 0, 5e8
	assert.InDelta(t, 8, seconds(schedule(4, both), c, Progress{}), 1e-6, "what a host can receive")

	// Rank 2 does not wait for rank 0's long message, but with barriers.
	c.Inject = 0
	s := schedule(4, []Message{{0, 1, 3e9}, {2, 3, 1e9}}, []Message{{2, 3, 2e9}})
	assert.InDelta(t, 3, seconds(s, c, Progress{}), 1e-6)
	assert.InDelta(t, 5, seconds(s, c, Progress{Barrier: true}), 1e-6)

	// The background takes half of the link, again and again.
	got, err := Simulate(n, schedule(4, one), c, Progress{Background: &Background{n, schedule(4, []Message{{2, 1, 5e8}})}})
	require.NoError(t, err)
	assert.InDelta(t, 6, got.Seconds, 1e-6)
	assert.InDelta(t, 6, got.Rounds, 1)
	for _, idle := range []Schedule{schedule(4), schedule(4, []Message{{2, 2, 5}}), schedule(4, []Message{{2, 1, 0}})} {
		got, err = Simulate(n, schedule(4, one), c, Progress{Background: &Background{n, idle}})
		require.NoError(t, err)
		assert.InDelta(t, 3, got.Seconds, 1e-6, "a background that takes no time")
	}
}

func TestWhatCannotBeSimulated(t *testing.T) {
	r := router(t, "fattree:4/1/1")
	n, good := inOrder(t, r), schedule(4, []Message{{0, 1, 1}})
	other := inOrder(t, router(t, "fattree:4/1/1"))
	parted, err := routing.New(r.Graph().Without(func(cable int) bool { return cable == 1 }), topology.Serial)
	require.NoError(t, err)
	for want, fails := range map[string]func() error{
		"4 ranks are on hosts, of 5 of test": func() error {
			_, err := Simulate(n, schedule(5), Costs{}, Progress{})
			return err
		},
		"stage 1 of test: a message from rank 0 to rank 4, of 4 ranks": func() error {
			_, err := Simulate(n, schedule(4, nil, []Message{{0, 4, 1}}), Costs{}, Progress{})
			return err
		},
		"stage 0 of test: a message from rank 0 to rank 3, of 3 ranks": func() error {
			_, err := Simulate(n, schedule(3, []Message{{0, 3, 1}}), Costs{}, Progress{})
			return err
		},
		"stage 0 of test: a message from rank 0 to rank 1 of -1 bytes": func() error {
			_, err := Simulate(n, schedule(4, []Message{{0, 1, -1}}), Costs{}, Progress{})
			return err
		},
		"the background is on another network": func() error {
			_, err := Simulate(n, good, Costs{}, Progress{Background: &Background{other, good}})
			return err
		},
		"background: 4 ranks are on hosts, of 5 of test": func() error {
			_, err := Simulate(n, good, Costs{}, Progress{Background: &Background{n, schedule(5)}})
			return err
		},
		"the simulation takes too long": func() error {
			_, err := Simulate(n, good, Costs{}, Progress{Work: 1})
			return err
		},
		"from rank 0 to rank 1: ": func() error {
			_, err := Simulate(inOrder(t, parted), good, Costs{}, Progress{})
			return err
		},
	} {
		assert.ErrorContains(t, fails(), want)
	}
}

// Shift on 324 hosts: in tree order the links are full; at random, degrees of 4.3
// with barriers and a third of the rate without [Zahavi, figure 2 and table 3].
func TestShiftOn324Hosts(t *testing.T) {
	r, s := router(t, tree324), Permutations(routing.Shift(324), 256<<10)
	full := 323 * float64(256<<10) / DefaultRate
	share := func(n *Network, c Costs, barrier bool) float64 {
		got, err := Simulate(n, s, c, Progress{Barrier: barrier})
		require.NoError(t, err)
		return full / got.Seconds
	}
	ordered, random := inOrder(t, r), shuffled(t, r, 1)
	for _, barrier := range []bool{false, true} {
		assert.InDelta(t, 1, share(ordered, Costs{}, barrier), 1e-6)
		assert.GreaterOrEqual(t, share(ordered, Costs{Startup: 1e-6}, barrier), 0.98)
	}
	c, err := routing.HotSpots(r, order(random), routing.Shift(324), topology.Serial)
	require.NoError(t, err)
	assert.InEpsilon(t, 1/c.Mean(), share(random, Costs{}, true), 0.02)
	async := share(random, Costs{}, false)
	assert.Less(t, 0.3, async)
	assert.Less(t, async, 0.65)
	assert.Greater(t, async, share(random, Costs{}, true), "barriers cost time")
}

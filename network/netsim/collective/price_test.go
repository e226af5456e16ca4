package collective

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/topology"
)

// links returns the load of the busiest link of each stage, in units of n.
func links(costs []Cost, n float64) []float64 {
	var list []float64
	for _, c := range costs {
		list = append(list, c.Link/n)
	}
	return list
}

// Sums of congestion x size, and the load of the stage that restores the order,
// which the source takes for free of congestion [Sack 3.4.1].
func TestCongestionOfRecursiveDoubling(t *testing.T) {
	for _, c := range []struct {
		dims          []int
		way           string
		sum           float64
		before, after float64 // of an allgather, of a reduce-scatter
	}{
		{dims: []int{8, 8, 8}, way: "doubling", sum: 949},
		{dims: []int{8, 8, 8}, way: "halving", sum: 730, before: 16, after: 16},
		{dims: []int{8, 8, 8}, way: "torus", sum: 574, before: 8, after: 8},
		{dims: []int{8, 8, 32}, way: "doubling", sum: 13749},
		{dims: []int{8, 8, 32}, way: "halving", sum: 2952, before: 24, after: 24},
		{dims: []int{8, 8, 32}, way: "torus", sum: 2328, before: 14, after: 24},
		{dims: []int{8, 16, 32}, way: "doubling", sum: 27701},
		{dims: []int{8, 16, 32}, way: "halving", sum: 6088, before: 32, after: 32},
		{dims: []int{8, 16, 32}, way: "torus", sum: 4680, before: 16, after: 40},
	} {
		for o, swap := range map[string]float64{"allgather/": c.before, "reduce-scatter/": c.after} {
			j := on(1, c.dims...)
			restores, rest := Split(cost(t, o+c.way, torus(t, c.dims...), j))
			assert.InDelta(t, c.sum, rest.Link, 0, "%s%s on %v", o, c.way, c.dims)
			assert.InDelta(t, swap, restores.Link, 0, "%s%s on %v", o, c.way, c.dims)
			assert.EqualValues(t, j.Ranks-1, rest.Port)
		}
	}
}

// The closed form of distance doubling on a cube [Sack 3.3.1].
func TestDistanceDoublingOnACube(t *testing.T) {
	for _, p := range []int{4, 8, 16} {
		c := Total(cost(t, "allgather/doubling", torus(t, p, p, p), on(1, p, p, p)))
		assert.InDelta(t, float64(1+p+p*p)*(5*float64(p*p)/24-1./3), c.Link, 1e-6)
	}
}

// The schedule of 8x8x8, and the congestion of each stage [Sack 3.4.1].
func TestTorusSchedule(t *testing.T) {
	assert.Equal(t, []int{8, 5, 2, 7, 4, 1, 6, 3, 0}, newBox(8, 8, 8).torusOrder())
	for _, c := range []struct {
		dims       []int
		congestion []float64
	}{
		{[]int{8, 8, 8}, []float64{2, 2, 2, 2, 2, 2, 1, 1, 1}},
		{[]int{8, 8, 32}, []float64{8, 8, 4, 2, 2, 2, 2, 2, 1, 1, 1}},
	} {
		costs := cost(t, "allgather/torus", torus(t, c.dims...), on(1, c.dims...))[1:]
		for s, k := range c.congestion {
			assert.InDelta(t, k*float64(int(1)<<s), costs[s].Link, 0, "%v, stage %d", c.dims, s)
		}
	}
	assert.Equal(t, 0b1110, remap([]int{2, 0, 3, 1}, 0b1011), "bits 2, 0, 3, 1, the lowest first")
}

// In the bit-reversed Morton order no stage that restores the order is needed.
func TestMortonOrder(t *testing.T) {
	n := torus(t, 8, 8, 8)
	order := make([]topology.Node, 512)
	for rank, x := range morton([]int{8, 8, 8}) {
		order[rank] = topology.Node(x)
	}
	n, err := netsim.New(n.Router(), order)
	require.NoError(t, err)
	assert.Equal(t, Cost{Messages: 9, Port: 511, Link: 574}, Total(cost(t, "allgather/doubling", n, Job{Ranks: 512, Bytes: 1})))
}

// The 6-way bucket on 8x16x32 [Sack 3.5.6], without what the source charges for
// the stages that restore the order: 106 messages and the largest dimension's
// ring in each of three stages.
func TestSixBuckets(t *testing.T) {
	j := on(6, 8, 16, 32)
	costs := cost(t, "allgather/6-bucket", torus(t, 8, 16, 32), j)
	_, rest := Split(costs)
	assert.Equal(t, int64(318), rest.Messages)
	assert.InDelta(t, 4495, rest.Link, 0)
	assert.Equal(t, []float64{31, 496, 3968}, links(costs[1:], 1))

	// Section 1203 is part 179 of the third bucket, and begins at rank 410.
	list := must(t, "allgather/6-bucket", on(6, 8, 8, 8)).Stages[0].step(nil, 0)
	i := slices.IndexFunc(list, func(t Transfer) bool { return t.At == 1203 })
	assert.Equal(t, netsim.Message{From: 200, To: 410, Size: 1}, list[i].Message)
}

// On a mesh six buckets load each link twice, three do not [Sack 3.4.2].
func TestBucketsOnMesh(t *testing.T) {
	n, err := Torus([]int{4, 4, 4}, false)
	require.NoError(t, err)
	for name, sum := range map[string]float64{"allgather/3-bucket": 63. / 3, "allgather/6-bucket": 2 * 63. / 6} {
		j := on(6, 4, 4, 4)
		_, rest := Split(cost(t, name, n, j))
		assert.InDelta(t, 6*sum, rest.Link, 0, name)
	}
	j := on(6, 4, 4, 4)
	_, rest := Split(cost(t, "allgather/6-bucket", torus(t, 4, 4, 4), j))
	assert.InDelta(t, 63, rest.Link, 0, "half of it on a torus")
}

// Messages of the hybrid [Sack 3.6.1], which says 59 for the cube of 8: the count that
// gives its 217 for the cube of 32 gives 61.
func TestHybridMessages(t *testing.T) {
	for p, want := range map[int][2]int64{8: {126, 60}, 32: {558, 216}} {
		j, n := on(6, p, p, p), torus(t, p, p, p)
		for i, name := range []string{"allgather/6-bucket", "allgather/hybrid"} {
			_, rest := Split(cost(t, name, n, j))
			assert.Equal(t, want[i], rest.Messages, "%s on %d", name, p)
		}
	}
}

// Distance doubling and halving on a Clos network [Sack 3.3.1, 3.4.1].
func TestClos(t *testing.T) {
	c := Clos{Leaf: 16, Mu: .25}
	for name, want := range map[string][2]float64{"doubling": {4047, 0}, "halving": {1212, 4}} {
		p := must(t, "allgather/"+name, Job{Ranks: 1024, Bytes: 1})
		costs, err := c.Price(p)
		require.NoError(t, err)
		restores, rest := Split(costs)
		assert.InDelta(t, want[0], rest.Link, 0, name)
		assert.InDelta(t, want[1], restores.Link, 0, name)
	}
	for _, c := range []Clos{{0, 1}, {4, 0}, {4, 1.5}} {
		_, err := c.Price(must(t, "allgather/ring", Job{Ranks: 8, Bytes: 1}))
		assert.ErrorContains(t, err, "a Clos network of")
	}
}

// The allreduces of a square mesh and of a Clos network [Sack 3.2.1]: n is 64 KiB,
// side 16.
func TestAllreduceOnMesh(t *testing.T) {
	const n, side, ranks = 1 << 16, 16, 256
	mesh, err := Torus([]int{side, side}, false)
	require.NoError(t, err)
	for name, want := range map[string]Cost{
		"broadcast/2-nomial":      {Messages: 8, Link: 8},
		"allreduce/fan":           {Messages: 16, Link: 16},
		"allreduce/mesh-exchange": {Messages: 8, Link: side},
		"allreduce/mesh":          {Messages: 16, Link: 9./4 - 3./(2*side)},
		"allreduce/bucket":        {Messages: 4 * (side - 1), Link: 2 * (ranks - 1.) / ranks},
		"allreduce/ring":          {Messages: 2 * (ranks - 1), Link: 2 * (ranks - 1.) / ranks},
	} {
		c := Total(cost(t, name, mesh, on(n, side, side)))
		assert.Equal(t, want.Messages, c.Messages, name)
		assert.InDelta(t, want.Link, c.Link/n, 1e-9, name)
	}
	p := must(t, "allreduce/ring", Job{Ranks: ranks, Bytes: n})
	costs, err := Clos{Leaf: 16, Mu: .25}.Price(p)
	require.NoError(t, err)
	assert.InDelta(t, 2*(ranks-1.)/ranks, Total(costs).Link/n, 1e-9)
}

// Missing partners cost at most as many stages again, and the bytes that a rank
// receives are no more.
func TestMissingPartners(t *testing.T) {
	for ranks := 1; ranks <= 130; ranks++ {
		for _, way := range []string{"doubling", "halving"} {
			p := must(t, "allgather/"+way, Job{Ranks: ranks, Bytes: 1})
			costs, err := Clos{Leaf: ranks, Mu: 1}.Price(p)
			require.NoError(t, err)
			_, rest := Split(costs)
			bits := newBox(ranks).bits()
			assert.LessOrEqual(t, rest.Messages, int64(2*bits), "%s of %d", way, ranks)
			if ranks == 1<<bits {
				assert.EqualValues(t, bits, rest.Messages)
			}
		}
	}
}

// A Schedule has each repetition as a stage, and the same messages.
func TestSchedule(t *testing.T) {
	p := must(t, "allgather/6-bucket", on(7, 2, 3, 4))
	s := p.Schedule()
	assert.Equal(t, 2+3*3, s.Stages, "two that restore, and three rings of up to 4")
	var sum, want int64
	for i := range s.Stages {
		for _, m := range s.Append(nil, i) {
			sum += m.Size
		}
	}
	for _, stage := range p.Stages {
		for r := range stage.repeats() {
			for _, m := range stage.step(nil, r) {
				want += m.Size
			}
		}
	}
	assert.Equal(t, want, sum)
	assert.GreaterOrEqual(t, sum, int64(7*24*23))
}

// One rank on each of 32768 switches, as in the source's largest partition.
func TestPlateaus(t *testing.T) {
	const n, mb = 32768, 1e6
	one := Model{6.29e-6, 1 / (375 * mb)}
	six := Model{one.Alpha, one.Delta / .93}
	for _, c := range []struct {
		way      string
		dims     []int
		model    Model
		measured float64
	}{
		{way: "bucket", dims: []int{8, 8, 8}, model: one, measured: 375},
		{way: "torus", dims: []int{8, 8, 8}, model: one, measured: 333},
		{way: "bucket", dims: []int{32, 32, 32}, model: one, measured: 375},
		{way: "torus", dims: []int{32, 32, 32}, model: one, measured: 323},
		{way: "3-bucket", dims: []int{32, 32, 32}, model: one, measured: 1120},
		{way: "6-bucket", dims: []int{32, 32, 32}, model: six, measured: 2075},
	} {
		j := on(n, c.dims...)
		seconds := c.model.Time(Total(cost(t, "allgather/"+c.way, torus(t, c.dims...), j)))
		assert.InEpsilon(t, c.measured, n*float64(j.Ranks-1)/seconds/mb, .05, "%s on %v", c.way, c.dims)
	}
}

func TestPriceNamesWhatIsMissing(t *testing.T) {
	_, err := Price(must(t, "allgather/ring", Job{Ranks: 9, Bytes: 1}), torus(t, 2, 2, 2), true)
	require.EqualError(t, err, "allgather/ring: 9 ranks on a network that has 8")
}

// morton returns the order of a torus' indices in which plain recursive doubling,
// distance doubling, talks as the torus order does, and needs no stage that
// restores the order: rank i is on index morton[i]. It is the bit-reversed Morton
// order [Sack 3.4.5] if sizes are powers of two.
func morton(dims []int) []int32 {
	b := newBox(dims...)
	order := b.torusOrder()
	ranks := identity(b.size())
	slices.SortFunc(ranks, func(x, y int32) int {
		return cmp.Compare(remap(order, b.address(int(x))), remap(order, b.address(int(y))))
	})
	return ranks
}

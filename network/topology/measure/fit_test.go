package measure

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
)

func samples(test Test, times map[int64]float64) []Sample {
	var list []Sample
	for size, us := range times {
		list = append(list, Sample{Test: test, Size: size, Time: us})
	}
	return list
}

// Times on a line give that line.
func TestExactTimesGiveTheirLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Line{Latency: rapid.Float64Range(0.1, 1000).Draw(t, "latency"), Bandwidth: rapid.Float64Range(1, 1e5).Draw(t, "bandwidth")}
		largest := rapid.Int64Range(1<<16, 1<<30).Draw(t, "largest")
		sizes := append(rapid.SliceOf(rapid.Int64Range(0, largest)).Draw(t, "sizes"), 0, largest)
		var exact []Sample
		for _, s := range sizes {
			exact = append(exact, Sample{Size: s, Time: want.At(s)})
		}
		got, err := Fit(exact)
		require.NoError(t, err)
		assert.InEpsilon(t, want.Latency, got.Latency, 1e-5)
		assert.InEpsilon(t, want.Bandwidth, got.Bandwidth, 1e-5)
		assert.InDelta(t, 1, got.R2, 1e-5)
	})
}

// Whatever the times, no small change of the line is a better one, and neither
// figure is negative.
func TestNoLineIsBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sample {
			return Sample{Size: rapid.Int64Range(0, 1<<20).Draw(t, "size"), Time: rapid.Float64Range(1, 1000).Draw(t, "time")}
		}), 2, 20).Draw(t, "samples")
		l, err := Fit(list)
		if err != nil {
			require.ErrorContains(t, err, "one size")
			return
		}
		off := func(latency, perByte float64) (sum float64) {
			for _, s := range list {
				r := (s.Time - latency - perByte*float64(s.Size)) / s.Time
				sum += r * r
			}
			return sum
		}
		perByte := 0.0
		if l.Bandwidth > 0 {
			perByte = 1 / l.Bandwidth
		}
		require.GreaterOrEqual(t, l.Latency, 0.0)
		require.True(t, l.R2 >= 0 && l.R2 <= 1, "%v", l.R2)
		best := off(l.Latency, perByte)
		for _, d := range []float64{-1, 1, -0.01, 0.01} {
			require.LessOrEqual(t, best, off(math.Max(0, l.Latency+d), perByte)+1e-9)
			if l.Bandwidth > 0 {
				require.LessOrEqual(t, best, off(l.Latency, math.Max(0, perByte+d*1e-3))+1e-9)
			}
		}
	})
}

func TestFit(t *testing.T) {
	for _, x := range []struct {
		times map[int64]float64
		want  Line
	}{
		{map[int64]float64{0: 2, 1000: 3, 2000: 4}, Line{2, 1000, 1}},
		{map[int64]float64{0: 5, 1000: 5}, Line{5, 0, 1}},
		{map[int64]float64{1000: 5, 2000: 10}, Line{0, 200, 1}},
		{map[int64]float64{1: 1, 1000: 5000}, Line{0, 0.2, 0}}, // no latency: weights are 1 and 1/5000²
		{map[int64]float64{0: 20, 1000: 10}, Line{12, 0, 0}},   // it does not grow
	} {
		got, err := Fit(samples(PingPong, x.times))
		require.NoError(t, err)
		t.Log(x.times, got)
		assert.InDelta(t, x.want.Latency, got.Latency, 1e-9)
		if x.want.R2 == 1 {
			assert.InDelta(t, x.want.Bandwidth, got.Bandwidth, 1e-9)
			assert.InDelta(t, 1, got.R2, 1e-9)
		}
	}
	noise, err := Fit(samples(PingPong, map[int64]float64{1: 10, 1000: 10.4, 2000: 9.8, 4000: 10.3, 8000: 10.2}))
	require.NoError(t, err)
	require.Zero(t, noise.Bandwidth, "times that differ by chance")
	_, err = Fit(samples(PingPong, map[int64]float64{8: 1}))
	require.EqualError(t, err, "messages of one size only: a line needs two sizes or more")
	_, err = Fit(nil)
	require.Error(t, err)
}

func TestLevels(t *testing.T) {
	var list []Sample
	hosts := []string{"a0", "a1", "b0", "b1"}
	hops := func(from, to string) (int, error) {
		if from[0] == to[0] {
			return 1, nil
		}
		return 3, nil
	}
	for i, from := range hosts {
		for _, to := range hosts[i+1:] {
			h, _ := hops(from, to)
			for _, size := range []int64{0, 1 << 10, 1 << 20} {
				us := float64(h) + float64(size)/1000
				list = append(list, Sample{From: from, To: to, Test: PingPong, Size: size, Time: us}, Sample{From: to, To: from, Test: PingPing, Size: size, Time: 2 * us})
			}
		}
	}
	list = append(list, Sample{From: "a1", To: "a0", Test: PingPong, Time: 1}) // the same pair
	levels, err := Levels(list, hops)
	require.NoError(t, err)
	require.Len(t, levels, 4)
	for i, want := range []struct {
		name    string
		pairs   int
		latency float64
	}{{"1 hop, ping-ping", 2, 2}, {"1 hop, ping-pong", 2, 1}, {"3 hops, ping-ping", 4, 6}, {"3 hops, ping-pong", 4, 3}} {
		l := levels[i]
		assert.Equal(t, want.name, l.Name())
		assert.Equal(t, want.pairs, l.Pairs)
		assert.InDelta(t, want.latency, l.Latency, 1e-9)
	}
	assert.InDelta(t, 1000, levels[1].Bandwidth, 1e-6)
	assert.InDelta(t, 500, levels[0].Bandwidth, 1e-6)

	levels, err = Levels(list, nil)
	require.NoError(t, err)
	require.Len(t, levels, 2)
	assert.Equal(t, []any{"all, ping-ping", 6, (*int)(nil)}, []any{levels[0].Name(), levels[0].Pairs, levels[0].Hops})

	_, err = Levels(list, func(string, string) (int, error) { return 0, errors.New("far") })
	require.EqualError(t, err, "far")
	_, err = Levels(list[:1], hops)
	require.EqualError(t, err, "1 hop, ping-pong: messages of one size only: a line needs two sizes or more")
}

// Of each distance there are as many pairs as wanted, or all; the same seed gives the
// same.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, each := rapid.IntRange(0, 40).Draw(t, "hosts"), rapid.IntRange(1, 10).Draw(t, "each")
		leaf, seed := rapid.IntRange(1, 8).Draw(t, "hosts of a leaf"), rapid.Uint64().Draw(t, "seed")
		hops := func(i, j int) (int, error) {
			if i/leaf == j/leaf {
				return 1, nil
			}
			return 3, nil
		}
		there := map[int]int{}
		for i := range n {
			for j := i + 1; j < n; j++ {
				h, _ := hops(i, j)
				there[h]++
			}
		}
		chosen, err := Choose(n, each, seed, hops)
		require.NoError(t, err)
		got, seen := map[int]int{}, map[[2]int]bool{}
		for _, p := range chosen {
			require.True(t, 0 <= p[0] && p[0] < p[1] && p[1] < n && !seen[p], "%v", p)
			seen[p] = true
			h, _ := hops(p[0], p[1])
			got[h]++
		}
		for h, count := range there {
			require.Equal(t, min(count, each), got[h], "%d hops", h)
		}
		again, err := Choose(n, each, seed, hops)
		require.NoError(t, err)
		require.Equal(t, chosen, again)
	})
}

func TestChooseOfMany(t *testing.T) {
	chosen, err := Choose(topology.MaxNodes, 5, 1, func(i, j int) (int, error) {
		if i == j {
			return 0, fmt.Errorf("%d and %d", i, j)
		}
		return 1, nil
	})
	require.NoError(t, err)
	assert.Len(t, chosen, 5)
	_, err = Choose(2, 5, 1, func(i, j int) (int, error) { return 0, errors.New("no way") })
	require.EqualError(t, err, "no way")
}

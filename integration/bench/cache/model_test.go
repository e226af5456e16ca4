package cache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// The time of a small exchange is the sum of its steps by hand.
func TestModelByHand(t *testing.T) {
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	o, err := run(exchange{grow(2, 8, 1), cache.HCMAB, 0, valueBytes, ring}, at(50*time.Microsecond))
	require.NoError(t, err)
	const (
		entry     = 1 + 17 + 1 + valueBytes // "P1-businesscard-0"
		entered   = 12 + 5 + 12             // put, client, fence
		aggregate = 6 + (3+entry)*0.001 + 50
		state     = 12 + 6 + (2+2*entry)*0.001 + 50
		released  = 12 + 5
	)
	require.InDelta(t, entered+aggregate+state+released, us(o.fence), 1e-6)
	require.InDelta(t, 2*(5+12), us(o.gets), 1e-6)

	o, err = run(exchange{grow(2, 8, 1), cache.HCMA, 0, valueBytes, ring}, at(50*time.Microsecond))
	require.NoError(t, err)
	require.EqualValues(t, 1, o.misses, "rank 1 asks once; the root has it all")
	// A get that is missed, and one that is not.
	require.InDelta(t, 5+12+6+(2+18)*0.001+50+12+6+(2+entry)*0.001+50+12+5+12, us(o.gets), 1e-6)
}

// The report of [Sridhar] about 64 nodes with 8 ranks holds in the model.
func TestThesis(t *testing.T) {
	whole := func(policy cache.Policy, budget int, hop time.Duration, peers func(int, int) []int) float64 {
		o, err := run(exchange{grow(64, degree, 8), policy, budget, valueBytes, peers}, at(hop))
		require.NoError(t, err)
		return ms(o.whole())
	}
	round := roundBytes(512, valueBytes)
	for _, c := range []struct {
		name  string
		hop   time.Duration
		peers func(int, int) []int
		most  float64 // of hcs
	}{
		{"1:2", 50 * time.Microsecond, ring, 1. / 3},
		{"1:p", time.Millisecond, everyone, 1. / 10},
	} {
		hcmab := whole(cache.HCMAB, 0, c.hop, c.peers)
		require.LessOrEqual(t, hcmab, c.most*whole(cache.HCS, 0, c.hop, c.peers), c.name)
		require.LessOrEqual(t, whole(cache.HCMABLRU, round, c.hop, c.peers), 1.1*hcmab, c.name)
	}
	o, err := run(exchange{grow(64, degree, 8), cache.HCMABLRU, round / 2, valueBytes, everyone}, at(time.Millisecond))
	require.NoError(t, err)
	require.Less(t, float64(o.misses), 0.6*512*512, "half a round answers nearly half of all gets")
}

// The whole page, in small.
func TestPage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, Run(t.Context(), results.NewFlags("cache", "-quick", "-o", out)))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if _, name, ok := strings.Cut(line, "]("); ok {
			picture, err := os.ReadFile(filepath.Join(filepath.Dir(out), strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(name), ")"))))
			require.NoError(t, err)
			require.Contains(t, string(picture), "</svg>")
		}
	}
	require.ErrorContains(t, Run(t.Context(), results.NewFlags("cache", "stray")), "stray argument")
}

package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
)

// Whatever the clocks of the nodes show, however they drift and however uneven
// the two ways over a link are, the offset that is found is no further from the
// truth than it says.
func TestOffsetsOfShiftedClocks(t *testing.T) {
	const hour = float64(time.Hour)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		begin := time.Unix(1_700_000_000, 0)
		shift, drift := make([]float64, n), make([]float64, n)
		nodes := make([]report.Node, n)
		for i := range n {
			shift[i] = rapid.Float64Range(-10*hour, 10*hour).Draw(t, "shift")
			drift[i] = rapid.Float64Range(-1e-4, 1e-4).Draw(t, "drift")
			nodes[i] = report.Node{Host: job.HostIndex(i), Parent: job.NoHost, Trace: &report.NodeTrace{}}
			if i > 0 {
				nodes[i].Parent = job.HostIndex(rapid.IntRange(0, i-1).Draw(t, "parent"))
			}
		}
		// show returns the reading of a node's clock at a true time, in nanoseconds
		// since begin; -1 is the launcher, whose clock is the truth.
		show := func(node job.HostIndex, at float64) int64 {
			if node >= 0 {
				at += shift[node] + drift[node]*at
			}
			return begin.UnixNano() + int64(at)
		}
		ends := []float64{0, rapid.Float64Range(0, 2*hour).Draw(t, "length")}
		for i := range nodes {
			for _, at := range ends {
				var b report.Bounds
				for range rapid.IntRange(1, 8).Draw(t, "trips") {
					down, up := rapid.Float64Range(1e4, 1e7).Draw(t, "down"), rapid.Float64Range(1e4, 1e7).Draw(t, "up")
					work := rapid.Float64Range(0, 1e6).Draw(t, "work")
					b.Add(report.Trip{
						Sent: show(nodes[i].Parent, at), Received: show(nodes[i].Host, at+down),
						Answered: show(nodes[i].Host, at+down+work), Back: show(nodes[i].Parent, at+down+work+up),
					})
					at += down + work + up
				}
				o, ok := b.Offset()
				require.True(t, ok)
				require.LessOrEqual(t, o.Within, 10*time.Millisecond+10*time.Microsecond)
				nodes[i].Trace.Clock = append(nodes[i].Trace.Clock, o)
			}
		}
		clock := report.Clocks(nodes)
		for i := range nodes {
			within, known := clock[job.HostIndex(i)].Within()
			require.True(t, known)
			at := rapid.Float64Range(0, ends[1]).Draw(t, "event")
			shown := time.Unix(0, show(job.HostIndex(i), at))
			// Trips take up to 0.2 s in all, in which clocks drift up to 20 us apart per link.
			tolerance := within + time.Duration(n)*50*time.Microsecond
			require.WithinDuration(t, begin.Add(time.Duration(at)), clock[job.HostIndex(i)].Launcher(shown), tolerance, fmt.Sprint(i))
		}
	})
}

func TestTripsThatCannotBe(t *testing.T) {
	var b report.Bounds
	_, ok := b.Offset()
	require.False(t, ok)
	b.Add(report.Trip{Sent: 1000, Received: 1100, Answered: 1100, Back: 900})
	_, ok = b.Offset()
	require.False(t, ok, "the parent's clock was set back on the way")
	b.Add(report.Trip{Sent: 1000, Received: 6000, Answered: 6010, Back: 1110})
	b.Add(report.Trip{Sent: 2000, Received: 6960, Answered: 6960, Back: 2100})
	o, _ := b.Offset()
	require.Equal(t, []time.Duration{4930, 30}, []time.Duration{o.Ahead, o.Within}, "4900 to 5000, and 4860 to 4960")
	b.Add(report.Trip{Sent: 3000, Received: 3100, Answered: 3100, Back: 3200})
	o, _ = b.Offset()
	require.Equal(t, []time.Duration{0, 100}, []time.Duration{o.Ahead, o.Within}, "the child's clock was set: what was before is void")
}

// Between two measurements an offset lies on a straight line, outside it is the
// nearest.
func TestOffsetBetweenMeasurements(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	nodes := []report.Node{
		{Host: 0, Parent: job.NoHost, Trace: &report.NodeTrace{Clock: []report.Offset{{At: at(0), Ahead: time.Second}, {At: at(10), Ahead: 3 * time.Second}}}},
		{Host: 1, Parent: 7, Trace: &report.NodeTrace{Clock: []report.Offset{{At: at(0)}}}},
		{Host: 2, Parent: job.NoHost},
	}
	clock := report.Clocks(nodes)
	for s, ahead := range map[int]time.Duration{-5: 1 * time.Second, 0: 1 * time.Second, 5: 2 * time.Second, 10: 3 * time.Second, 20: 3 * time.Second} {
		require.Equal(t, ahead, clock[0].Ahead(at(s)), s)
	}
	for host, known := range []bool{true, false, false} {
		_, ok := clock[job.HostIndex(host)].Within()
		require.Equal(t, known, ok, "host %d", host)
	}
}

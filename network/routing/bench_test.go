package routing

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// reportMemory reports the memory in use at the end of a round; -benchmem reports all
// that was allocated.
func reportMemory(b *testing.B, keep ...any) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc), "live-B")
	b.ReportMetric(float64(m.Sys), "system-B")
	runtime.KeepAlive(keep)
}

func allPairs(b *testing.B, r Router) {
	c, err := HotSpots(r, hostsOf(r.Graph()), Shift(r.Graph().Hosts()), parallel)
	require.NoError(b, err)
	b.ReportMetric(c.Mean(), "messages/link")
}

// Dump and tables of 1944 hosts read, the tuple recognized, all pairs routed.
func Benchmark1944FromTables(b *testing.B) {
	dir := managed(b, withGUIDs(b, graph(b, tree1944)), "ftree")
	for b.Loop() {
		f, dump := discovered(b, dir)
		recognized(b, f)
		r, err := NewTables(f, dump, parallel)
		require.NoError(b, err)
		allPairs(b, r)
		reportMemory(b, r)
	}
}

func Benchmark1944DModK(b *testing.B) {
	for b.Loop() {
		allPairs(b, dmodk(b, tree1944))
	}
}

func Benchmark1944UpDown(b *testing.B) {
	for b.Loop() {
		r, err := NewUpDown(graph(b, tree1944), parallel)
		require.NoError(b, err)
		allPairs(b, r)
		reportMemory(b, r)
	}
}

func Benchmark1944CreditLoop(b *testing.B) {
	r := dmodk(b, tree1944)
	for b.Loop() {
		require.Nil(b, CreditLoop(r, parallel))
	}
}

// A fat tree of 65,536 hosts is made and its hosts ordered.
func Benchmark65536Order(b *testing.B) {
	for b.Loop() {
		g, err := spec.Parse("fattree:32,32,64/1,32,32/1,1,1")
		require.NoError(b, err)
		r, err := New(g, parallel)
		require.NoError(b, err)
		orders, err := Orders(r, hostsOf(g), 1, parallel)
		require.NoError(b, err)
		require.True(b, orders[0].Free)
		reportMemory(b, r, orders)
	}
}

// The same recognized from its cables, with some missing.
func Benchmark65536Degraded(b *testing.B) {
	g, err := spec.Parse("fattree:32,32,64/1,32,32/1,1,1")
	require.NoError(b, err)
	g = g.Without(func(c int) bool { return c > 65536 && c%1000 == 7 })
	for b.Loop() {
		f, err := topology.Recognize(g)
		require.NoError(b, err)
		r, err := New(g.WithFamily(f), parallel)
		require.NoError(b, err)
		orders, err := Orders(r, hostsOf(g), 1, parallel)
		require.NoError(b, err)
		b.Log(&orders[0])
		reportMemory(b, r, orders)
	}
}

package scale

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/report"
)

func TestSince(t *testing.T) {
	const table = "golaunch: 4 ranks on 2 nodes, degree 8\n" +
		"golaunch: phase                    ms since start\n" +
		"golaunch: agents up              10.5       70.1\n" +
		"golaunch: tree down               0.6       91.5\n"
	at, err := since(table, "agents up")
	require.NoError(t, err)
	require.InDelta(t, 70.1, at, 1e-9)
	_, err = since(table, "connect")
	require.ErrorContains(t, err, `nothing of "connect"`)
}

func TestAgentsOwn(t *testing.T) {
	node := func(host, parent string, cpu float64) report.NodeJSON {
		n := report.NodeJSON{Host: host, Parent: parent}
		n.Agent.CPU = cpu
		return n
	}
	client, leaf := agentsOwn(&report.Report{Nodes: []report.NodeJSON{
		node("a", "", 0.014), node("b", "a", 0.008), node("c", "a", 0.005), node("d", "b", 0.005),
	}})
	require.InDelta(t, 5, leaf, 1e-9)
	require.InDelta(t, (4.5+3)/2, client, 1e-9)
}

// A point is the medians of undisturbed readings.
func TestTake(t *testing.T) {
	p := point{Nodes: 8, Fit: true}
	p.take([]reading{{Wall: 3, CPU: 1}, {Wall: 1, CPU: 5, Others: 0.04}, {Wall: 90, CPU: 50, Others: 0.06}, {Wall: 100, CPU: 2, Others: 0.02}})
	require.Equal(t, point{Nodes: 8, Fit: true, reading: reading{Wall: 3, CPU: 2, Others: 0.02}, Readings: 3, Spread: p.Spread}, p)

	p.take([]reading{{Wall: 3, Others: 0.3}, {Wall: 4, Others: 0.4}, {Wall: 2, Others: 0.2}, {Wall: 1, Others: 0.1}})
	require.Equal(t, reading{Wall: 2, Others: 0.2}, p.reading, "the least disturbed ones where none is undisturbed")
}

func TestSpread(t *testing.T) {
	require.Zero(t, spread([]float64{7}))
	require.InDelta(t, 0.1, spread([]float64{100, 90, 110, 5, 1000}), 1e-9)
}

// Time of the cluster, of this process and of the kernel's threads is not others'.
func TestOthers(t *testing.T) {
	at, cores := time.Now(), time.Duration(runtime.NumCPU())
	whole := time.Second * cores
	before := sample{at: at, machine: -5 * whole, cluster: time.Second, self: time.Second, kernel: map[string]time.Duration{"2": time.Second}}
	after := sample{at: at.Add(time.Second), machine: -5*whole - whole/2, cluster: time.Second + whole/5, self: time.Second + whole/20,
		kernel: map[string]time.Duration{"2": time.Second + whole/40, "9": whole / 40}}
	require.InDelta(t, 0.5-0.2-0.05-0.05, before.others(after), 1e-6)
}

// A fit finds the costs that points were made with, and so predicts others.
func TestFit(t *testing.T) {
	made := usual
	made.Server, made.Wait, made.Spawn, made.End = 12e6, 9e6, 700e3, 4e6
	m := &measured{Cores: 2, Costs: usual, Counted: counted{Client: ms(usual.Client), Agent: ms(usual.Agent), Warden: ms(usual.Warden)}}
	for _, p := range []point{{Nodes: 1, Ranks: 1}, {Nodes: 1, Ranks: 16}, {Nodes: 9, Ranks: 1}, {Nodes: 9, Ranks: 16}, {Nodes: 20, Ranks: 4}} {
		one, err := again(m, p)
		require.NoError(t, err)
		o, err := simulate(one, made)
		require.NoError(t, err)
		p.Fit = p.Nodes != 20
		p.Connect, p.Up, p.Started, p.Wall, p.CPU = ms(o.connect), ms(o.up), ms(o.started), ms(o.down), ms(o.cpu)
		m.Points = append(m.Points, p)
	}
	before, err := misfit(m, m.Costs)
	require.NoError(t, err)
	m.Costs, err = fit(m)
	require.NoError(t, err)
	after, err := misfit(m, m.Costs)
	require.NoError(t, err)
	require.Less(t, after, before/10)
	last := m.Points[len(m.Points)-1]
	one, err := again(m, last)
	require.NoError(t, err)
	o, err := simulate(one, m.Costs)
	require.NoError(t, err)
	for i, v := range modelled(o) {
		require.InEpsilon(t, last.values()[i], v, 0.1, valueNames[i])
	}
}

// A law is found again in its own points.
func TestLaw(t *testing.T) {
	want := law{a: 100, b: 20, c: 0.5}
	var times []float64
	nodes := []int{4, 64, 1024, 65536}
	for _, n := range nodes {
		times = append(times, want.at(n))
	}
	l := lawOf(nodes, times)
	require.InDelta(t, want.a, l.a, 1e-6)
	require.InDelta(t, want.b, l.b, 1e-6)
	require.InDelta(t, want.c, l.c, 1e-6)
	require.InDelta(t, 0, l.off, 1e-6)
}

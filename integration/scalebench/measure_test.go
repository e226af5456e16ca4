package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/report"
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

func TestMedians(t *testing.T) {
	p := point{Nodes: 8, Fit: true, Client: 7}
	p.medians([]point{{Wall: 3, CPU: 1}, {Wall: 1, CPU: 5}, {Wall: 100, CPU: 2}})
	require.Equal(t, point{Nodes: 8, Fit: true, Client: 7, Wall: 3, CPU: 2}, p)
}

// A fit finds the costs that points were made with, and so predicts others.
func TestFit(t *testing.T) {
	made := usual
	made.Server, made.Wait, made.Spawn, made.End = 17e6, 9e6, 400e3, 2e6
	m := &measured{Cores: 2, Costs: usual}
	for _, p := range []point{{Nodes: 1, Ranks: 1}, {Nodes: 1, Ranks: 16}, {Nodes: 12, Ranks: 1}, {Nodes: 12, Ranks: 16}, {Nodes: 30, Ranks: 4}} {
		o, err := again(m, p, made)
		require.NoError(t, err)
		p.Fit = p.Nodes != 30
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
	o, err := again(m, last, m.Costs)
	require.NoError(t, err)
	for i, v := range modelled(o) {
		require.InEpsilon(t, last.values()[i], v, 0.05, valueNames[i])
	}
}

// A law is found again in what was made with it.
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

package launcher

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// planOf is a plan of so many ranks on each host, in two blocks: its ranks begin anew at
// the first host after half of them.
func planOf(hosts, each int) *Plan {
	p := &Plan{Size: hosts * each}
	for h := range hosts {
		p.Hosts = append(p.Hosts, job.Host{Name: fmt.Sprintf("n%03d", h+1)})
	}
	for half := range 2 {
		for h := range hosts {
			count := each/2 + half*(each%2)
			first := half*hosts*(each/2) + h*count
			p.Blocks = append(p.Blocks, job.Block{Host: job.HostIndex(h), First: job.Rank(first), Count: count})
		}
	}
	return p
}

func TestBoundLinesOfFew(t *testing.T) {
	p := planOf(2, 2)
	require.Empty(t, boundLines(0, p, nil))
	bound := []overlay.Bound{{Ranks: []string{"CPUs 0,4 (core 0 of socket 0)", "CPU 1"}, Hosts: []job.HostIndex{1, 0}}}
	require.Equal(t, []string{
		"rank 0 on n001: CPUs 0,4 (core 0 of socket 0)", "rank 1 on n002: CPUs 0,4 (core 0 of socket 0)",
		"rank 2 on n001: CPU 1", "rank 3 on n002: CPU 1",
	}, boundLines(0, p, bound))
	bound[0].Hosts = bound[0].Hosts[:1] // the other is lost
	require.Equal(t, []string{"rank 1.1 on n002: CPUs 0,4 (core 0 of socket 0)", "rank 1.3 on n002: CPU 1"}, boundLines(1, p, bound))
}

// Before anything is started, golaunch names hosts with too few things to bind ranks
// to.
func TestBoundTooMany(t *testing.T) {
	p := planOf(5, 8)
	p.Bootstrap = "ssh"
	p.Hosts = append(p.Hosts, job.Host{Name: "spare"})
	live := []overlay.NodeInfo{
		{Index: 0, Room: &overlay.Room{Ranks: 8, Has: "8 cores"}}, {Index: 1, Room: &overlay.Room{Ranks: 4, Has: "4 cores"}}, {Index: 2, Room: &overlay.Room{Ranks: 16, Has: "16 cores in 2 sockets"}},
		{Index: 3, Room: &overlay.Room{Ranks: 4, Has: "4 cores"}}, {Index: 4, Room: &overlay.Room{None: "CPU 9 is not the job's"}}, {Index: 5, Room: &overlay.Room{Ranks: 1, Has: "1 core"}},
	}
	const nineAlone = "--bind-to core cannot be done:\n  host n005: CPU 9 is not the job's\nnothing was run"
	require.Equal(t, "--bind-to core cannot be done:\n  hosts n[002,004]: 4 cores for 8 ranks\n  host n005: CPU 9 is not the job's\n"+
		"nothing was run; use fewer ranks per host, --oversubscribe to let ranks share, or --bind-to none", p.boundTooMany(live, "core", false, nil))
	require.Equal(t, nineAlone, p.boundTooMany(live, "core", true, nil))
	named := map[job.Rank]string{}
	for r := range job.Rank(p.Size) { // all but four of each host
		if r%8 >= 4 {
			named[r] = "0"
		}
	}
	require.Equal(t, nineAlone, p.boundTooMany(live, "core", false, named))
	live[1].Room.Ranks, live[3].Room.Ranks, live[4] = 8, 9, overlay.NodeInfo{Index: 4} // an agent that does not bind
	require.Empty(t, p.boundTooMany(live, "core", false, nil))
	p.Bootstrap = "fork" // all on one machine
	live = live[2:3]
	require.Contains(t, p.boundTooMany(live, "socket", false, nil), "host n003: 16 cores in 2 sockets for 40 ranks")
}

// 4,096 ranks are as many lines as a host has cores, where hosts are alike.
func TestBoundLinesOfMany(t *testing.T) {
	p := planOf(64, 64)
	alike := overlay.Bound{}
	for i := range 64 {
		alike.Ranks = append(alike.Ranks, fmt.Sprintf("CPU %d", i%32))
	}
	other := overlay.Bound{Ranks: make([]string, 64), Hosts: []job.HostIndex{63}}
	for i := range other.Ranks {
		other.Ranks[i] = "CPU 7"
	}
	for h := range 63 {
		alike.Hosts = append(alike.Hosts, job.HostIndex(h))
	}
	lines := boundLines(0, p, []overlay.Bound{alike, other})
	require.Len(t, lines, 33)
	require.Equal(t, "local ranks 0,32 on each of hosts n[001-063]: CPU 0", lines[0])
	require.Equal(t, "local ranks 31,63 on each of hosts n[001-063]: CPU 31", lines[31])
	require.Equal(t, "ranks 2016-2047,4064-4095 on n064: CPU 7", lines[32])

	var unlike []overlay.Bound
	for h := range 64 {
		b := overlay.Bound{Hosts: []job.HostIndex{job.HostIndex(h)}}
		for i := range 64 {
			b.Ranks = append(b.Ranks, fmt.Sprintf("CPU %d", 100*h+i))
		}
		unlike = append(unlike, b)
	}
	lines = boundLines(0, p, unlike)
	require.Len(t, lines, 257)
	require.Equal(t, "... and 3840 more lines; --report has the CPUs of all ranks", lines[256])
}

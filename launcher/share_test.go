package launcher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/network/placement"
)

// inAllocation are options for n ranks on hosts of an allocation with two slots on each of
// n1 to n9.
func inAllocation(t *testing.T, hosts string, n int) *Options {
	o := options(t, hosts, n)
	o.Hosts.Allocation = &Allocation{Manager: "Slurm", ID: "7", Slots: map[string]int{}}
	for i := range 9 {
		o.Hosts.Allocation.Slots[fmt.Sprint("n", i+1)] = 2
	}
	return o
}

// free is the part of each host that nobody else uses.
func free(counts ...int) map[job.HostIndex]overlay.Shared {
	of := map[job.HostIndex]overlay.Shared{}
	for i, n := range counts {
		of[job.HostIndex(i)] = overlay.Shared{Free: n}
	}
	return of
}

// Where others use slots, ranks go to free ones by the same rules, and nowhere if there
// are too few.
func TestAmongOthers(t *testing.T) {
	cyclic := func(o *Options) { o.Placement.Wish.Rule = placement.Node }
	onTwo := func(o *Options) { o.Hosts.RankHosts = 2 }
	for _, c := range []struct {
		name  string
		hosts string
		n     int
		edit  func(*Options)
		free  []int
		want  []int // ranks of each host; nil where there is no plan
	}{
		{"all free", "n[1-3]:2", 3, nil, []int{2, 2, 2}, []int{2, 1}},
		{"the second", "n[1-3]:2", 2, nil, []int{0, 2, 2}, []int{0, 2}},
		{"pieces", "n[1-3]:2", 3, nil, []int{1, 0, 2}, []int{1, 0, 2}},
		{"too few", "n[1-3]:2", 4, nil, []int{1, 0, 2}, nil},
		{"as many as slots", "n[1-3]:2", 0, nil, []int{2, 2, 1}, nil},
		{"in turn", "n[1-3]:2", 3, cyclic, []int{0, 2, 2}, []int{0, 2, 1}},
		{"ppn", "n[1-3]:2", 0, func(o *Options) { o.Placement.PPN, o.Programs.Apps[0].N = 2, 2 }, []int{1, 2, 2}, []int{0, 2}},
		{"one of each", "n[1-3]:2", 0, func(o *Options) { o.Placement.PPN, o.Programs.Apps[0].N = 1, 2 }, []int{0, 1, 1}, []int{0, 1, 1}},
		{"evenly on two", "n[1-3]", 2, onTwo, []int{0, 1, 2}, []int{0, 1, 1}},
		{"unevenly on two", "n[1-3]", 3, onTwo, []int{0, 1, 2}, []int{0, 1, 2}},
		{"one is not two", "n[1-3]", 2, onTwo, []int{0, 0, 2}, nil},
		{"evenly on all that are named", "n[1-3]", 3, nil, []int{0, 2, 2}, nil},
		{"hosts of nobody's allocation", "a,b", 2, nil, nil, []int{1, 1}},
		{"more than slots", "n[1-2]:2", 8, func(o *Options) { o.Placement.Oversubscribe = true }, []int{2, 2}, []int{4, 4}},
		{"more than slots, in use", "n[1-2]:2", 8, func(o *Options) { o.Placement.Oversubscribe = true }, []int{2, 1}, nil},
		{"oversubscribe, not needed", "n[1-2]:2", 2, func(o *Options) { o.Placement.Oversubscribe = true }, []int{0, 2}, []int{0, 2}},
		{"the list", "n2,n1", 2, func(o *Options) {
			o.Placement.Wish.Rule, o.Placement.Wish.Sequence = placement.Seq, []string{"n2", "n1"}
		}, []int{0, 2}, nil},
	} {
		o := inAllocation(t, c.hosts, c.n)
		if c.edit != nil {
			c.edit(o)
		}
		o.Hosts.Prelaunch = true
		o.attempt.agents = 9
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		q := p.among(free(c.free...))
		if c.want == nil {
			require.Nil(t, q, c.name)
			continue
		}
		require.NotNil(t, q, c.name)
		require.Equal(t, c.want, q.Blocks.perHost(len(q.Hosts))[:len(c.want)], c.name)
		require.Equal(t, p.Size, q.Size, c.name)
		require.Equal(t, p.Hosts, q.Hosts, c.name)
	}
}

// A job whose hosts are in use begins anew on those that may be free, and on twice as
// many; once all are its hosts it waits.
func TestWider(t *testing.T) {
	o := inAllocation(t, "n[1-9]:2", 2)
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Len(t, p.Hosts, 1)
	require.True(t, p.fits(free(2)))
	tried := []string{}
	for _, want := range []struct {
		first  string
		agents int
	}{{"n2", 2}, {"n4", 4}, {"n8", 8}, {"n1", 9}} {
		for _, h := range p.Hosts {
			tried = append(tried, h.Name)
		}
		w := p.wider(free(make([]int, len(p.Hosts))...))
		require.NotNil(t, w, "%d hosts", len(p.Hosts))
		require.Len(t, w.hosts, 9)
		s := newRestarts(*o)
		s.widen(w)
		*o = s.o
		p, err = NewPlan(o, "here")
		require.NoError(t, err)
		require.Len(t, p.Hosts, want.agents, "after %v", tried)
	}
	require.Nil(t, p.wider(free(make([]int, 9)...)))
	s := sharing{base: p, of: free(0, 1, 0, 0, 0, 0, 0, 0, 0)}
	require.Equal(t, "waiting for 1 of 17 slots that other golaunch of allocation 7 use (--overlap shares them)", s.text(p))

	o = inAllocation(t, "n[1-3]:2", 2)
	o.Placement.Wish.Rule, o.Placement.Wish.Sequence = placement.Seq, []string{"n2", "n1"}
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	require.Nil(t, p.wider(free(0, 0)), "each rank has its host")
}

// Hosts that are known to be dead are none of those with which a job begins anew, nor are
// the spares that stood in for them.
func TestWiderWithoutTheDead(t *testing.T) {
	for _, c := range []struct {
		name   string
		edit   func(*Options)
		dead   job.HostIndex
		agents int
		spares int
		first  string
	}{
		{"one of two", func(o *Options) { o.Hosts.Spares = 1 }, 0, 2, 0, "n3"},
		{"a spare", func(o *Options) { o.Hosts.Spares = 1 }, 1, 2, 0, "n3"},
		{"one of four", func(o *Options) { o.Hosts.Spares, o.attempt.agents = 2, 4 }, 2, 6, 1, "n5"},
	} {
		o := inAllocation(t, "n[1-9]:2", 2)
		c.edit(o)
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		dead := p.Hosts[c.dead].Name
		p, err = p.Without([]job.HostIndex{c.dead})
		require.NoError(t, err, c.name)
		of := free(make([]int, len(p.Hosts))...)
		delete(of, c.dead)
		w := p.wider(of)
		require.NotNil(t, w, c.name)
		s := newRestarts(*o)
		s.widen(w)
		require.Equal(t, c.agents, s.o.attempt.agents, c.name)
		require.Equal(t, c.spares, s.o.Hosts.Spares, c.name)
		require.Len(t, s.o.Hosts.List, 8, c.name)
		require.NotContains(t, hostlist.Fold(bare(s.o.Hosts.List)), dead, c.name)
		require.Equal(t, c.first, s.o.Hosts.List[0].Name, c.name)
	}
	o := inAllocation(t, "", 2) // apps with hosts of their own
	o.Programs.Apps, o.Placement.Oversubscribe = apps(4, 2), true
	for i, hosts := range []string{"n[1-4]:2", "n[5-6]:2"} {
		var err error
		o.Programs.Apps[i].Hosts, err = hostlist.Parse(hosts, "-H")
		require.NoError(t, err)
	}
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	p, err = p.Without([]job.HostIndex{0})
	require.NoError(t, err)
	s := newRestarts(*o)
	s.widen(p.wider(free(0, 0, 0)))
	require.Equal(t, 5, s.o.attempt.agents)
	require.Equal(t, "n[2-4]", hostlist.Fold(bare(s.o.Programs.Apps[0].Hosts)))
	require.Equal(t, "n[1-4]", hostlist.Fold(bare(o.Programs.Apps[0].Hosts)))
}

// liveHosts is a tree with other hosts.
type liveHosts struct {
	jobTree
	ready overlay.Ready
}

func (l *liveHosts) Hosts() overlay.Ready { return l.ready }

func (l *liveHosts) Without(dead []overlay.DeadHost) {
	l.ready.Dead = append(l.ready.Dead, dead...)
	l.ready.Settle()
}

// A host that is lost while the job waits for slots ends it where it holds ranks that no other
// host may take, and nowhere else.
func TestALossWhileSlotsAreAwaited(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(*Options)
		dead    []job.HostIndex
		missed  []job.HostIndex // of the others
		says    string
		status  int // 0 where it goes on
		attempt string
	}{
		{"a host without ranks", nil, []job.HostIndex{2, 3}, []job.HostIndex{0}, "golaunch: hosts n[3-4] lost before the ranks ran: link lost: the job goes on\n", 0, ""},
		{"the last that is asked", nil, []job.HostIndex{3}, nil, "golaunch: host n4 lost before the ranks ran: link lost: the job goes on\n", 0, ""},
		{"a host with ranks", nil, []job.HostIndex{0, 1}, nil, "", job.ExitLauncher, "n1 n2"},
		{"one that others replace", func(o *Options) { o.Hosts.AllowDeadNodes = true }, []job.HostIndex{0}, []job.HostIndex{1},
			"golaunch: host n1 lost before the ranks ran: link lost: the job goes on\ngolaunch: host n3 takes the place of n1\n", 0, ""},
		{"one for which there is a spare", func(o *Options) { o.Hosts.Spares = 1 }, []job.HostIndex{1}, []job.HostIndex{0},
			"golaunch: host n2 lost before the ranks ran: link lost: the job goes on\ngolaunch: host n4 takes the place of n2\n", 0, ""},
		{"two for one spare", func(o *Options) { o.Hosts.Spares = 1 }, []job.HostIndex{0, 1}, nil, "", job.ExitLauncher, "n1 n2"},
		{"too few are left", func(o *Options) { o.Hosts.AllowDeadNodes = true }, []job.HostIndex{0, 1, 2}, nil,
			"golaunch: without n[1-3]: not enough slots: 4 ranks, 2 slots on 1 host of -H, 2 missing; add hosts, give more slots (host:N), or --oversubscribe\n", job.ExitLauncher, "n1 n2 n3"},
	} {
		r, _ := launchedRun(t)
		o := inAllocation(t, "n[1-4]:2", 4)
		if c.edit != nil {
			c.edit(o)
		}
		o.attempt.agents = 4
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		require.Len(t, p.Hosts, 4, c.name)
		var said strings.Builder
		r.report.w, r.options, r.plan, r.worlds.own = &said, *o, p, nil
		live := &liveHosts{jobTree: r.tree}
		r.tree = live
		for i := range p.Hosts {
			live.ready.Live = append(live.ready.Live, overlay.NodeInfo{Index: job.HostIndex(i)})
		}
		r.sharing = sharing{job: r.run, base: p, of: free(1, 1, 1, 1), round: 1, claims: maxClaims, pause: time.Hour, missed: map[job.HostIndex]bool{}}
		for _, h := range append(c.missed, c.dead...) {
			r.sharing.missed[h] = true
		}
		var dead []overlay.DeadHost
		for _, h := range c.dead {
			dead = append(dead, overlay.DeadHost{Index: h, Cause: "link lost"})
		}
		r.HostsLost(dead)
		require.Equal(t, c.says, said.String(), c.name)
		require.Equal(t, c.status != 0, r.over, c.name)
		require.Len(t, live.ready.Live, 4-len(dead), c.name)
		for _, h := range c.dead {
			require.NotContains(t, r.sharing.of, h, c.name)
		}
		if c.status != 0 {
			require.Equal(t, c.status, r.verdict.cause().ExitCode(), c.name)
			require.Equal(t, c.attempt, strings.Join(r.outcome().names, " "), c.name)
			continue
		}
		require.False(t, r.plan.Blocks.on(c.dead[0]), c.name)
		require.Equal(t, len(c.missed) == 0, r.sharing.round == 2, "%s: it is judged once all have answered", c.name)
	}
}

// A host whose agent keeps no account of others is not waited for.
func TestHostsOfWhichNothingIsSaid(t *testing.T) {
	p, err := NewPlan(inAllocation(t, "n[1-2]:2", 4), "here")
	require.NoError(t, err)
	require.True(t, p.has(nil))
	require.Same(t, p, p.among(nil))
	of := map[job.HostIndex]overlay.Shared{0: {Slots: 1, Free: 1}}
	require.False(t, p.has(of))
	require.Nil(t, p.among(of))
	of[0] = overlay.Shared{Slots: 2, Free: 2}
	require.True(t, p.has(of))
	require.Same(t, p, p.among(of))
}

// The shares for agents to claim travel with the hosts.
func TestShares(t *testing.T) {
	o := inAllocation(t, "n[1-2]:2,a:2", 6)
	o.Start.BindTo, o.Launch.GPUsPerRank = "core", 1
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	want := &overlay.Share{Has: 2, Slots: 2, GPUs: 1, CPUs: true}
	entries := p.entries()
	require.Equal(t, want, entries[0].Share)
	require.Nil(t, entries[2].Share, "a is not of the allocation")
	require.Equal(t, []overlay.HostShare{{Host: 0, Share: *want}, {Host: 1, Share: *want}}, p.shares())
	require.False(t, p.has(map[job.HostIndex]overlay.Shared{0: {Slots: 2}, 1: {Slots: 1}}))
	require.True(t, p.has(map[job.HostIndex]overlay.Shared{0: {Slots: 2}, 1: {Slots: 2}}))
	o.Hosts.Allocation = nil
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	require.Nil(t, p.entries()[0].Share)
	require.Empty(t, p.shares())
}

package launcher

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement"
)

// listed is a rule that knows a host for each rank.
type listed []int

func (l listed) Place(*placement.Input) ([]placement.Run, error) {
	return placement.Fold(l), nil
}

// Where neither -n nor slots say how many ranks there are, those of a dead host
// go with it; else they move, or have no place. A spare takes what it can.
func TestRanksOfDeadHosts(t *testing.T) {
	for _, c := range []struct {
		name  string
		hosts string
		edit  func(*Options)
		dead  []job.HostIndex
		want  []int
		err   string
	}{
		{"one per host", "n[1-3]", nil, []job.HostIndex{1}, []int{1, 0, 1}, ""},
		{"two die", "n[1-3]", nil, []job.HostIndex{0, 2}, []int{0, 1, 0}, ""},
		{"-n", "n[1-3]", func(o *Options) { o.Programs.Apps[0].N = 3 }, []job.HostIndex{1}, []int{2, 0, 1}, ""},
		{"ppn", "n[1-3]", func(o *Options) { o.Placement.PPN = 2 }, []job.HostIndex{1}, []int{2, 0, 2}, ""},
		{"oversubscribe", "n[1-3]", func(o *Options) { o.Placement.PPN, o.Placement.Oversubscribe = 2, true }, []job.HostIndex{0}, []int{0, 2, 2}, ""},
		{"a spare", "n[1-4]", func(o *Options) { o.Hosts.Spares = 1 }, []job.HostIndex{1}, []int{1, 0, 1, 1}, ""},
		{"a spare for two", "n[1-4]", func(o *Options) { o.Hosts.Spares = 1 }, []job.HostIndex{0, 1}, []int{0, 0, 1, 1}, ""},
		{"a dead spare", "n[1-4]", func(o *Options) { o.Hosts.Spares = 1 }, []job.HostIndex{3}, []int{1, 1, 1, 0}, ""},
		{"slots", "n[1-3]:2", nil, []job.HostIndex{1}, nil, "without n2: not enough slots: 6 ranks, 4 slots on 2 hosts of -H, 2 missing"},
		{"a host twice", "n1,n1,n2", nil, []job.HostIndex{1}, nil, "without n2: not enough slots: 3 ranks, 2 slots on 1 host of -H, 1 missing"},
		{"a host twice, -n", "n1,n1,n2", func(o *Options) { o.Programs.Apps[0].N = 2 }, nil, []int{2}, ""},
		{"slots to oversubscribe", "n[1-3]:2", func(o *Options) { o.Placement.Oversubscribe = true }, []job.HostIndex{1}, []int{3, 0, 3}, ""},
		{"input for a rank that is gone", "n[1-3]", func(o *Options) { o.Input.Stdin = 2 }, []job.HostIndex{1}, nil, "without n2: --stdin: there is no rank 2 among 2"},
	} {
		o := options(t, c.hosts, 0)
		if c.edit != nil {
			c.edit(o)
		}
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		size := p.Size
		q, err := p.Without(c.dead)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, perHost(q), c.name)
		ranks := 0
		for _, n := range c.want {
			ranks += n
		}
		require.Equal(t, ranks, q.Size, c.name)
		require.Equal(t, ranks, q.Apps[0].N, c.name)
		said := ""
		if ranks < size {
			said = fmt.Sprintf("%s instead of %d", plural(ranks, "rank"), size)
		}
		require.Equal(t, said, p.fewer(q), c.name)
		require.Equal(t, [2]int{size, size}, [2]int{p.Size, p.Apps[0].N}, "%s: a plan does not change", c.name)
	}
}

// A rule may leave hosts out and order ranks as it likes. Hosts keep the user's
// order, those with ranks first, so that the others stay unused.
func TestPlanOfAnyRule(t *testing.T) {
	o := options(t, "a,b,c,d,e", 3, 4)
	o.Placement.Rule, o.Hosts.Spares = listed{3, 0, 0, 3, 3, 1, 0}, 1
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, "a,b,d,c", hostlist.Fold(bare(p.Hosts)), "a spare after those with ranks")
	require.Equal(t, "e", hostlist.Fold(bare(p.Unused)))
	require.Equal(t, "d:0/0 a:1-2/0 d:3-4/1 b:5/1 a:6/1", placesText(p))
	require.Equal(t, "(vector,(2,1,1),(0,1,2),(2,1,2),(1,1,1),(0,1,1))", p.ProcessMapping())
	for rank, host := range []job.HostIndex{2, 0, 0, 2, 2, 1, 0} {
		require.Equal(t, host, p.Blocks.hostOf(job.Rank(rank)))
	}
	require.Contains(t, p.String(), "\nhosts  ranks per host  ranks\na      3               1-2,6\nb      1               5\nd      3               0,3-4\nc      0               -\n")

	_, err = p.Without([]job.HostIndex{2})
	require.EqualError(t, err, "without d: placement: 1 rank on host 3 of 3", "this rule knows nothing of dead hosts")
}

// Any host for each rank comes back from blocks, process mapping and table.
func TestPlanOfAnyRuleAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.IntRange(1, 6).Draw(t, "hosts")
		list := listed(rapid.SliceOfN(rapid.IntRange(0, hosts-1), 1, 24).Draw(t, "host of each rank"))
		o := options(t, "", len(list))
		for i := range hosts {
			o.Hosts.List = append(o.Hosts.List, job.Host{Name: string(rune('a' + i))})
		}
		o.Placement.Rule = list
		p, err := NewPlan(o, "here")
		require.NoError(t, err)
		nodes := slices.Compact(slices.Sorted(slices.Values(list)))
		var want, got []int
		for rank, h := range list {
			want = append(want, slices.Index(nodes, h))
			require.Equal(t, o.Hosts.List[h].Name, p.Hosts[p.Blocks.hostOf(job.Rank(rank))].Name)
		}
		got = unpack(t, p.ProcessMapping())
		require.Equal(t, want, got)
		require.Len(t, p.Hosts, len(nodes))
		require.Len(t, p.Unused, hosts-len(nodes))
	})
}

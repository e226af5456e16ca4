package launcher

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement"
	"github.com/golaunch/golaunch/network/placement/rankfile"
)

func graphOf(t *testing.T, word string) *placement.Graph {
	g, err := commgraph.Parse(word)
	require.NoError(t, err)
	return &placement.Graph{Graph: g, From: word}
}

// The map is made again for the hosts that live, spares among them, and a rule that
// deals ranks out does so again.
func TestMapOfLiveHosts(t *testing.T) {
	o := options(t, "h[0-8]:4", 32)
	o.Hosts.Network, o.Hosts.Spares = networkOf(t, "torus:3x3", ""), 1
	o.Placement.Wish = placement.Wish{Rule: placement.Comm, Graph: graphOf(t, "cart:4x8")}
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Empty(t, p.placed.Notes)
	require.Contains(t, p.String(), "\nmap    by cart:4x8: ")
	q, err := p.Without([]job.HostIndex{2})
	require.NoError(t, err)
	require.NotNil(t, q.placed.Mapped)
	require.Equal(t, []int{4, 4, 0, 4, 4, 4, 4, 4, 4}, perHost(q))
	require.Empty(t, p.placeNotes(q))
	require.NotEqual(t, slices.Repeat([]int{4}, 8), blockLengths(q), "not simply the default order")
	for _, f := range q.placed.Mapped.Figures[:1] {
		require.LessOrEqual(t, f.Map, f.Default)
	}

	o.Placement.Wish = placement.Wish{Rule: placement.Node}
	o.Hosts.Network, o.Hosts.Spares = nil, 0
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	q, err = p.Without([]job.HostIndex{2})
	require.NoError(t, err)
	require.Equal(t, "(vector,(0,8,1),(0,8,1),(0,8,1),(0,8,1))", q.ProcessMapping())
}

func blockLengths(p *Plan) (lengths []int) {
	for _, b := range p.Blocks {
		lengths = append(lengths, b.Count)
	}
	return lengths
}

// A graph that does not fit the ranks that are left is told of then.
func TestMapOfFewerRanks(t *testing.T) {
	o := options(t, "h[0-3]", 0)
	o.Hosts.Network = networkOf(t, "torus:2x2", "")
	o.Placement.Wish = placement.Wish{Rule: placement.Comm, Graph: graphOf(t, "cart:4")}
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Empty(t, p.placed.Notes)
	q, err := p.Without([]job.HostIndex{1})
	require.NoError(t, err)
	require.Equal(t, []string{"communication graph cart:4 has 4 ranks, the job 3: all ranks count as alike, and follow the order of hosts"}, p.placeNotes(q))
}

// Hosts that a rank file names are used, whichever order the network has, and spares
// are others; +n counts the hosts as the user lists them.
func TestPlanByRankFile(t *testing.T) {
	o := options(t, "h3,h1,h0,h2", 4)
	o.Hosts.Network, o.Hosts.Spares = networkOf(t, "fattree:2,2/1,2/1,1", ""), 1
	file, err := rankfile.Parse(strings.NewReader("rank 0=+n0\nrank 1=h2\nrank 2=+n0\nrank 3=+n1\n"), "ranks")
	require.NoError(t, err)
	o.Placement.Wish = placement.Wish{Rule: placement.File, RankFile: file}
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, "h[1-3,0]", hostlist.Fold(bare(p.Hosts)))
	require.Equal(t, "h3:0/0 h2:1/0 h3:2/0 h1:3/0", placesText(p))
	q, err := p.Without([]job.HostIndex{1})
	require.NoError(t, err)
	require.Equal(t, "h3:0/0 h0:1/0 h3:2/0 h1:3/0", placesText(q), "the spare takes the place of h2")

	file, err = rankfile.Parse(strings.NewReader("0-3 far\n"), "ranks")
	require.NoError(t, err)
	o.Placement.Wish.RankFile = file
	_, err = NewPlan(o, "here")
	require.EqualError(t, err, "--map-by: ranks:1: host far is not one of the job's; name it in -H or -f")
}

// Of more hosts than it takes, those are used that share no link.
func TestPlanAvoidsConflicts(t *testing.T) {
	o := options(t, "h0,h1,h2,h3,h4,h5,h6,h7", 4)
	o.Placement.PPN = 1
	o.Hosts.Network = networkOf(t, "xgft:4,2/1,2", "")
	o.Placement.Wish.AvoidConflicts = true
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, "h[0-1,4-5]", hostlist.Fold(bare(p.Hosts)))
	require.Equal(t, "h[2-3,6-7]", hostlist.Fold(bare(p.Unused)))
	o.Placement.PPN, o.Placement.Wish.Rule = 0, placement.Node
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, "h[0-1,4-5]", hostlist.Fold(bare(p.Hosts)))
	o.Programs.Apps[0].N = 5
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, []string{"--avoid-path-conflict: too few hosts have a link to themselves; these of 5 hosts share one above their switch: h[0,2]"}, p.placed.Notes)
}

// Lines of hosts are folded by their repeats, and no more than fit a screen.
func TestPlanIsReadable(t *testing.T) {
	o := options(t, "n[001-256]:16", 4096)
	o.Placement.Wish = placement.Wish{Rule: placement.Node}
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Contains(t, p.String(), "\nn[001-256]:16  16              0-3840/256, +1 on each next host\n")

	o.Placement.Wish = placement.Wish{Rule: placement.Comm, Graph: graphOf(t, "cart:16x16x16:periodic")}
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	text := p.String()
	require.Less(t, strings.Count(text, "\n"), 60)
	all := p.text(0)
	if strings.Count(all, "\n") > strings.Count(text, "\n") {
		require.Regexp(t, `\n\d+ hosts more; -v shows them\n$`, text)
	}
	require.NotContains(t, all, "-v shows")
}

// Ranks on a host are told in few words.
func TestSpansOfRanks(t *testing.T) {
	for want, ranks := range map[string][]int{
		"-":           nil,
		"0-3,8":       {0, 1, 2, 3, 8},
		"0-96/8":      {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96},
		"1,3":         {1, 3},
		"0-4/2,7-8":   {0, 2, 4, 7, 8},
		"0-1,4-5,8-9": {0, 1, 4, 5, 8, 9},
		"5-11/2,100":  {5, 7, 9, 11, 100},
	} {
		var s spans
		for _, r := range ranks {
			s.add(job.Block{First: job.Rank(r), Count: 1})
		}
		require.Equal(t, want, s.String())
		require.Equal(t, len(ranks), s.count())
	}
}

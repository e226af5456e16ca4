package launcher

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// apartOptions are those of two apps of 2 and 4 ranks with hosts of their own, and a
// third of 2 on those of the first.
func apartOptions(t *testing.T, first, second string) *Options {
	o := options(t, first, 2, 4, 2)
	var err error
	o.Programs.Apps[1].Hosts, err = hostlist.Parse(second, "-H")
	require.NoError(t, err)
	return o
}

// hostOf is the host of each rank.
func hostOf(p *Plan) (names []string) {
	for _, b := range p.Blocks {
		for range b.Count {
			names = append(names, p.Hosts[b.Host].Name)
		}
	}
	return names
}

func TestAppsOnTheirHosts(t *testing.T) {
	for _, c := range []struct {
		name, first, second string
		edit                func(*Options)
		want                []string
	}{
		{"apart", "a", "b,c", nil, []string{"a", "a", "b", "b", "c", "c", "a", "a"}},
		{"slots of each list", "a:1,b:3", "b:1,c:3", nil, []string{"a", "b", "b", "c", "c", "c", "b", "b"}},
		{"one list has slots", "a:2,b:2", "b", nil, []string{"a", "a", "b", "b", "b", "b", "b", "b"}},
		{"dealt", "a,b", "b,c", func(o *Options) { o.Placement.Wish.Rule = "node" }, []string{"a", "b", "b", "c", "b", "c", "a", "b"}},
		{"numbered in turn", "a,b", "b,c", func(o *Options) { o.Placement.Wish.Order = "node" }, []string{"a", "b", "b", "c", "b", "c", "a", "b"}},
	} {
		o := apartOptions(t, c.first, c.second)
		if c.edit != nil {
			c.edit(o)
		}
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, hostOf(p), c.name)
		next := job.Rank(0)
		for _, b := range p.Blocks {
			assert.Equal(t, next, b.First, c.name)
			next += job.Rank(b.Count)
		}
	}
}

// An app stays on its hosts when one of them is dead, and has nowhere to go without any.
func TestAppsWithoutDeadHosts(t *testing.T) {
	p, err := NewPlan(apartOptions(t, "a", "b,c"), "here")
	require.NoError(t, err)
	q, err := p.Without([]job.HostIndex{1})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "a", "c", "c", "c", "c", "a", "a"}, hostOf(q))

	_, err = p.Without([]job.HostIndex{1, 2})
	require.EqualError(t, err, "without b,c: app 1 (./app1): none of its hosts is left: b,c")
}

// A job is not started again where an app has lost all of its hosts: those of others are
// not its.
func TestRestartOfAppsApart(t *testing.T) {
	o := apartOptions(t, "a,d", "b,c")
	o.Ending.Restarts = 3
	for _, c := range []struct {
		lost  string
		again bool
		want  string
		said  string
	}{
		{"b", true, "c", ""},
		{"b,c", false, "", "golaunch: no restart: none of the hosts of app 1 (./app1) is left\n"},
	} {
		lost, err := hostlist.Parse(c.lost, "-H")
		require.NoError(t, err)
		var said strings.Builder
		s := newRestarts(*o)
		apps := slices.Clone(o.Programs.Apps)
		require.Equal(t, c.again, s.again(t.Context(), &failedAttempt{apps: apps, lost: lost, names: []string{"hosts"}, rank: job.RankID{Rank: -1}}, newReporter(&said, false)))
		require.Equal(t, c.said, said.String())
		require.Equal(t, c.want, hostlist.Fold(s.o.Programs.Apps[1].Hosts))
	}
}

// A host without ranks has the place of a lost one: the other ranks stay where they were.
func TestRestartKeepsRanksWhereTheyAre(t *testing.T) {
	for _, c := range []struct {
		hosts      string
		n, spares  int
		lost, want string
	}{
		{"n[1-6]", 5, 1, "n3", "n[1-2,6,4-5]"},
		{"n[1-6]", 3, 0, "n1,n3", "n[4,2,5-6]"},
		{"n[1-4]", 3, 0, "n2,n4", "n[1,3]"}, // the only other is lost, too
		{"n[1-4]", 3, 1, "n1,n2", "n[4,3]"},
		{"n[1-3]", 6, 0, "n2", "n[1,3]"},
	} {
		o := options(t, c.hosts, c.n)
		o.Hosts.Spares, o.Ending.Restarts = c.spares, 1
		p, err := NewPlan(o, "here")
		require.NoError(t, err)
		lost, err := hostlist.Parse(c.lost, "-H")
		require.NoError(t, err)
		var said strings.Builder
		s := newRestarts(*o)
		require.True(t, s.again(t.Context(), &failedAttempt{plan: p, apps: o.Programs.Apps, lost: lost, rank: job.RankID{Rank: -1}}, newReporter(&said, false)))
		require.Equal(t, c.want, hostlist.Fold(s.o.Hosts.List), "%+v", c)
	}
}

package launcher

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// Spares take the ranks of dead hosts, and nothing else changes.
func TestSpares(t *testing.T) {
	for _, c := range []struct {
		name      string
		hosts     string
		n, spares int
		dead      []job.HostIndex
		want      []int
	}{
		{"nobody dies", "n[1-6]", 8, 2, nil, []int{2, 2, 2, 2, 0, 0}},
		{"one dies", "n[1-6]", 8, 2, []job.HostIndex{1}, []int{2, 0, 2, 2, 2, 0}},
		{"two die", "n[1-6]", 8, 2, []job.HostIndex{0, 3}, []int{0, 2, 2, 0, 2, 2}},
		{"a spare dies", "n[1-6]", 8, 2, []job.HostIndex{5}, []int{2, 2, 2, 2, 0, 0}},
		{"more die than are spare", "n[1-6]", 8, 2, []job.HostIndex{0, 1, 2}, []int{0, 0, 0, 2, 3, 3}},
		{"no more hosts than needed", "n[1-9]", 2, 1, nil, []int{1, 1, 0}},
		{"smaller slots need both spares", "a:4,b:2,c:2", 4, 2, []job.HostIndex{0}, []int{0, 2, 2}},
	} {
		o := options(t, c.hosts, c.n)
		o.Hosts.Spares = c.spares
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		if len(c.dead) > 0 {
			p, err = p.Without(c.dead)
			require.NoError(t, err, c.name)
		}
		assert.Equal(t, c.want, perHost(p), c.name)
	}
	for _, c := range []struct {
		name  string
		hosts string
		n     int
		want  string
		err   string
	}{
		{"no -n", "a,b,c", 0, "", ""},
		{"more hosts than ranks", "a,b,c", 2, "", ""},
		{"as full as without", "n[1-6]", 8, "", ""},
		{"a host each", "n[1-3]", 3, "--spares 1 keeps n3 free: a host holds up to 2 ranks, 1 without spares; name more hosts, or lower --spares", ""},
		{"slots", "n[1-3]:2", 5, "", "--spares 1 keeps n3 free: not enough slots: 5 ranks, 4 slots on 2 hosts of -H, 1 missing; add hosts, give more slots (host:N), or --oversubscribe; or lower --spares"},
	} {
		o := options(t, c.hosts, c.n)
		o.Hosts.Spares = 1
		p, err := NewPlan(o, "here")
		if c.err != "" {
			require.EqualError(t, err, c.err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, p.Crowded, c.name)
	}
	o := options(t, "a,b", 2)
	o.Hosts.Spares = 2
	_, err := NewPlan(o, "here")
	require.EqualError(t, err, "--spares: 2 spares of 2 hosts leave no host for ranks; name more hosts")
}

// A user whose job is not run for want of hosts gets hints that help, and no others.
func TestNothingIsRun(t *testing.T) {
	const allow = "; --allow-dead-nodes goes on without them if slots suffice"
	for _, c := range []struct {
		hosts           string
		n, spares, dead int
		want            string
	}{
		{"n[1-3]", 3, 0, 1, "nothing was run" + allow},
		{"n[1-3]", 3, 0, 3, "nothing was run"},
		{"n[1-3]", 2, 0, 2, "nothing was run" + allow}, // n3 is unused
		{"n[1-4]", 3, 1, 2, "nothing was run: 1 spare is too few for 2 dead hosts" + allow},
		{"n[1-4]", 2, 2, 4, "nothing was run: 2 spares are too few for 4 dead hosts"},
	} {
		o := options(t, c.hosts, c.n)
		o.Hosts.Spares = c.spares
		p, err := NewPlan(o, "here")
		require.NoError(t, err)
		require.Equal(t, c.want, notRun(p, c.dead, len(p.Hosts)), "%+v", c)
	}
}

// Behind relays unused hosts replace no dead ones, but as spares they do: the error says so.
func TestSparesBehindRelays(t *testing.T) {
	o := options(t, "n[1-4]:2", 4)
	o.Boot.Bootstrap, o.Boot.Values = "exec", bootstrap.Values{"exec-command": "x {host} {command}"}
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	_, err = p.Without([]job.HostIndex{0})
	require.ErrorContains(t, err, "without n1: not enough slots: 4 ranks, 2 slots on 1 host of -H, 2 missing")
	require.ErrorContains(t, err, "; --spares N starts N more, of 2 hosts unused")

	o.Hosts.Spares = 2
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	_, err = p.Without([]job.HostIndex{0, 1, 2})
	require.ErrorContains(t, err, "2 missing")
	require.NotContains(t, err.Error(), "--spares", "none is unused")
}

// As many hosts as the user wants hold ranks where more have agents, whoever is dead.
func TestHostsBeyondThoseForRanks(t *testing.T) {
	for dead, want := range map[job.HostIndex]string{
		0: "n5:0-1/0 n2:2-3/0",
		1: "n1:0-1/0 n5:2-3/0",
		3: "n1:0-1/0 n2:2-3/0",
	} {
		o := options(t, "n[1-6]", 4)
		o.Hosts.RankHosts, o.Hosts.Spares, o.attempt.agents = 2, 1, 5
		p, err := NewPlan(o, "here")
		require.NoError(t, err)
		require.Len(t, p.Hosts, 5)
		p, err = p.Without([]job.HostIndex{dead})
		require.NoError(t, err)
		require.Equal(t, want, placesText(p), "without %d", dead)
	}
}

// Hosts of the list without ranks stand in for dead ones, in their position.
func TestReplacements(t *testing.T) {
	for _, c := range []struct {
		name   string
		hosts  string
		n      int
		edit   func(*Options)
		dead   []job.HostIndex
		start  string // the hosts that are started next
		then   []job.HostIndex
		next   string
		blocks string
		says   string
	}{
		{"one", "n[1-6]", 3, nil, []job.HostIndex{1}, "n4", nil, "", "n1:0/0 n4:1/0 n3:2/0", "host n4 takes the place of n2"},
		{"two", "n[1-6]", 3, nil, []job.HostIndex{0, 2}, "n[4-5]", nil, "", "n4:0/0 n2:1/0 n5:2/0", "hosts n[4-5] take the place of n[1,3]"},
		{"more than there are", "n[1-4]", 3, nil, []job.HostIndex{0, 1, 2}, "n4", nil, "", "n4:0-2/0", "host n4 takes the place of n[1-3]"},
		{"none", "n[1-3]", 3, nil, []job.HostIndex{0}, "", nil, "", "n2:0-1/0 n3:2/0", "host n2 holds more ranks without n1"},
		{"two of four", "n[1-4]", 8, nil, []job.HostIndex{0, 3}, "", nil, "", "n2:0-3/0 n3:4-7/0", "hosts n[2-3] hold more ranks without n[1,4]"},
		{"a dead one of theirs", "n[1-6]", 2, nil, []job.HostIndex{0}, "n3", []job.HostIndex{0, 2}, "n[4-5]", "n4:0/0 n2:1/0", "host n4 takes the place of n1"},
		{"a spare is enough", "n[1-6]", 2, func(o *Options) { o.Hosts.Spares = 1 }, []job.HostIndex{0}, "", nil, "", "n3:0/0 n2:1/0", "host n3 takes the place of n1"},
		{"smaller slots", "a:4,b:1,c:1,d:1,e:1,f", 4, nil, []job.HostIndex{0}, "b", []job.HostIndex{0}, "c", "", ""},
		{"of --nodes", "n[1-4]", 4, func(o *Options) { o.Hosts.RankHosts = 2 }, []job.HostIndex{0}, "n3", nil, "", "n3:0-1/0 n2:2-3/0", "host n3 takes the place of n1"},
		{"of --nodes and a spare", "n[1-4]", 4, func(o *Options) { o.Hosts.RankHosts, o.Hosts.Spares = 2, 1 }, []job.HostIndex{0, 1}, "n4", nil, "", "n3:0-1/0 n4:2-3/0", "hosts n[3-4] take the place of n[1-2]"},
		{"relays", "n[1-6]", 3, func(o *Options) {
			o.Boot.Bootstrap, o.Boot.Values = "exec", bootstrap.Values{"exec-command": "x {host} {command}"}
		},
			[]job.HostIndex{0}, "", nil, "", "n2:0-1/0 n3:2/0", "host n2 holds more ranks without n1"},
	} {
		o := options(t, c.hosts, c.n)
		if c.edit != nil {
			c.edit(o)
		}
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		require.Equal(t, c.start != "" || p.Spares > 0 || slices.Contains([]string{"none", "two of four", "relays"}, c.name), p.redundant(), c.name)
		more := p.replacements(c.dead)
		require.Equal(t, c.start, hostlist.Fold(bare(more)), c.name)
		p = p.withMore(more)
		if c.next != "" {
			more = p.replacements(c.then)
			require.Equal(t, c.next, hostlist.Fold(bare(more)), c.name)
			p, c.dead = p.withMore(more), c.then
		}
		if c.blocks == "" {
			continue
		}
		q, err := p.Without(c.dead)
		require.NoError(t, err, c.name)
		require.Equal(t, c.blocks, placesText(q), c.name)
		require.Equal(t, c.says, p.replaced(q), c.name)
	}
}

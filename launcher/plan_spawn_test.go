package launcher

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
)

// spawnOf has one command for each number of processes.
func spawnOf(procs ...int) *pmi.Spawn {
	s := &pmi.Spawn{}
	for i, n := range procs {
		s.Commands = append(s.Commands, pmi.Command{Exec: fmt.Sprintf("./cmd%d", i), Procs: n})
	}
	return s
}

// place returns the hosts for a spawn of p's first world.
func place(p *Plan) SpawnHosts {
	used := make([]int, len(p.Hosts))
	for _, b := range p.Blocks {
		used[b.Host] += b.Count
	}
	return SpawnHosts{Used: used, HostFile: func(name string) ([]job.Host, error) {
		if name == "hosts.txt" {
			return hostlist.Parse("c,a", name)
		}
		return nil, errors.New("hostfile: " + name + ": no such file")
	}}
}

// placesText renders blocks as "host:ranks of app" in rank order.
func placesText(p *Plan) string {
	var words []string
	for _, b := range p.Blocks {
		words = append(words, fmt.Sprintf("%s:%s/%d", p.Hosts[b.Host].Name, span(int(b.First), b.Count), b.App))
	}
	return strings.Join(words, " ")
}

func TestSpawnPlacement(t *testing.T) {
	hosts := func(names ...string) func(*pmi.Spawn) {
		return func(s *pmi.Spawn) { s.Commands[0].Hints.Hosts = names }
	}
	for _, c := range []struct {
		name  string
		hosts string
		n     int
		over  bool
		pre   bool
		spawn *pmi.Spawn
		edit  func(*pmi.Spawn)
		want  string
	}{
		{"free slots in order", "a:3,b:2,c:2", 4, false, true, spawnOf(3), nil, "b:0/0 c:1-2/0"},
		{"the rest of a host first", "a:4,b:2", 2, false, true, spawnOf(3), nil, "a:0-1/0 b:2/0"},
		{"several commands", "a:4,b:4", 2, false, true, spawnOf(1, 4, 1), nil, "a:0/0 a:1/1 b:2-4/1 b:5/2"},
		{"only hosts with agents", "a:2,b:2,c:2", 3, false, false, spawnOf(1), nil, "b:0/0"},
		{"beyond the slots", "a:2,b:2", 3, true, true, spawnOf(4), nil, "a:0-1/0 b:2-3/0"},
		{"no slots: the idle first", "a,b,c", 1, false, true, spawnOf(2), nil, "b:0/0 c:1/0"},
		{"no slots: any number", "a,b,c", 1, false, true, spawnOf(6), nil, "a:0-1/0 b:2-3/0 c:4-5/0"},
		{"one machine", "", 2, false, false, spawnOf(3), nil, "here:0-2/0"},
		{"named hosts, in the order given", "a:2,b:2,c:2", 1, false, true, spawnOf(3), hosts("c", "b"), "c:0-1/0 b:2/0"},
		{"a host twice, and a range", "n[1-3]:2", 1, false, true, spawnOf(3), hosts("n[3", "3", "2]"), "n3:0-1/0 n2:2/0"},
		{"a host file", "a:2,b:2,c:2", 1, false, true, spawnOf(3), func(s *pmi.Spawn) { s.Commands[0].Hints.HostFile = "hosts.txt" }, "c:0-1/0 a:2/0"},
		{"soft", "a:2,b:2", 1, false, true, spawnOf(8), func(s *pmi.Spawn) {
			s.Commands[0].Hints.Soft = []pmi.Triplet{{First: 0, Last: 8, Step: 2}}
		}, "a:0/0 b:1/0"},
	} {
		o := options(t, c.hosts, c.n)
		o.Placement.Oversubscribe, o.Hosts.Prelaunch = c.over, c.pre
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		if c.edit != nil {
			c.edit(c.spawn)
		}
		w, _, err := p.Spawn(c.spawn, p.Apps[0], place(p))
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, placesText(w), c.name)
	}
}

func TestSpawnErrors(t *testing.T) {
	for _, c := range []struct {
		edit func(*pmi.Spawn)
		want string
	}{
		{func(s *pmi.Spawn) { s.Commands[0].Procs = 4 },
			"not enough free slots: 4 processes of ./cmd0, 3 free slots on 2 hosts; give more slots (host:N) or hosts, or --oversubscribe"},
		{func(s *pmi.Spawn) { s.Commands = append(s.Commands, pmi.Command{Exec: "x", Procs: 2}) },
			"not enough free slots: 2 processes of x, 1 free slot on 2 hosts"},
		{func(s *pmi.Spawn) {
			s.Commands[0].Hints.Soft = []pmi.Triplet{{First: 4, Last: 8, Step: 1}}
			s.Commands[0].Procs = 8
		}, "not enough free slots"},
		{func(s *pmi.Spawn) { s.Commands[0].Hints.Hosts = []string{"nowhere"} }, "host nowhere is not one of the job's"},
		{func(s *pmi.Spawn) { s.Commands[0].Hints.Hosts = []string{"c"} }, "host c holds no rank and cannot get an agent now; start golaunch with --prelaunch"},
		{func(s *pmi.Spawn) { s.Commands[0].Hints.Hosts = []string{"a["} }, "host"},
		{func(s *pmi.Spawn) { s.Commands[0].Hints.HostFile = "none" }, "hostfile: none: no such file"},
		{func(s *pmi.Spawn) { s.Commands[0].Exec = "" }, "a command without a program"},
		{func(s *pmi.Spawn) { s.Commands[0].Args = []string{"a\x00b"} }, "zero byte"},
		{func(s *pmi.Spawn) { s.Commands[0].Hints.Dir = "/\x00" }, "zero byte"},
	} {
		p, err := NewPlan(options(t, "a:2,b:3,c:9", 5), "here")
		require.NoError(t, err)
		at := place(p)
		at.Used = []int{2, 0}
		s := spawnOf(2)
		c.edit(s)
		_, _, err = p.Spawn(s, p.Apps[0], at)
		require.ErrorContains(t, err, c.want)
	}
}

func TestUniverse(t *testing.T) {
	for _, c := range []struct {
		hosts       string
		n           int
		grown, lone int // with hosts that can get agents later, and without
	}{
		{"a,b,c", 2, -1, -1},
		{"a:2,b:3,c:4", 1, 9, 2},
		{"a:2,b,c:4", 3, 7, 3},
		{"a:2,b:3", 5, 5, 5},
	} {
		p, err := NewPlan(options(t, c.hosts, c.n), "here")
		require.NoError(t, err)
		require.Equal(t, c.grown, p.universe(true), c.hosts)
		require.Equal(t, c.lone, p.universe(false), c.hosts)
	}
	o := options(t, "a:1,b:1", 5)
	o.Placement.Oversubscribe = true
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, 5, p.universe(true), "no smaller than the world")
	p, err = NewPlan(options(t, "a:2,b:3,c:4", 4), "here")
	require.NoError(t, err)
	p.dead[1] = true
	require.Equal(t, 6, p.universe(true))
}

// Host files that a rank's agent has read are compared with the job's hosts, and not
// repeated.
func TestHostFileOfASpawn(t *testing.T) {
	p, err := NewPlan(options(t, "a:2,b:3", 5), "here")
	require.NoError(t, err)
	at := place(p)
	at.Used = []int{0, 0}
	s := spawnOf(1)
	s.Commands[0].Hints.HostFile = "f"
	for _, c := range []struct {
		files []overlay.HostFile
		want  string // the error
	}{
		{[]overlay.HostFile{{Name: "e", Hosts: "a"}, {Name: "f", Hosts: "b,a"}}, ""},
		{[]overlay.HostFile{{Name: "f", Hosts: "b,secret"}}, "host 2 of host file f is not one of the job's, or has no agent; name it in --hosts or --hostfile"},
		{[]overlay.HostFile{{Name: "e", Failure: "not a regular file"}}, "host file e on the rank's host: not a regular file"},
		{nil, "host file f was not read"},
	} {
		at.HostFile = hostFile(c.files)
		q, _, err := p.Spawn(s, p.Apps[0], at)
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, "b:0/0", placesText(q))
			continue
		}
		require.EqualError(t, err, c.want)
	}
}

// A spawned program runs as the one that spawned it, but for its hints; soft
// shows in the codes.
func TestSpawnedApps(t *testing.T) {
	o := options(t, "a:4", 1)
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	s := spawnOf(1, 5)
	s.Commands[0].Args, s.Commands[0].Hints = []string{"x"}, pmi.Hints{Dir: "sub", Path: "/opt"}
	s.Commands[1].Hints = pmi.Hints{Dir: "/abs", Soft: []pmi.Triplet{{First: 1, Last: 5, Step: 1}}}
	w, codes, err := p.Spawn(s, job.App{Argv: []string{"./me"}, N: 1, Env: []string{"A=1"}, Dir: "/work"}, place(p))
	require.NoError(t, err)
	require.Equal(t, []job.App{
		{Argv: []string{"./cmd0", "x"}, N: 1, Env: []string{"A=1"}, Dir: "/work/sub", DirGiven: true, Path: "/opt"},
		{Argv: []string{"./cmd1"}, N: 2, Env: []string{"A=1"}, Dir: "/abs", DirGiven: true},
	}, w.Apps)
	require.Equal(t, []int{0, 0, 0, 1, 1, 1}, codes)
	require.Equal(t, 3, w.Size)
	require.Equal(t, "(vector,(0,1,3))", w.ProcessMapping())
	require.Equal(t, 1, p.Size, "the first world stays as it is")
}

// A host that is dead takes nothing; the numbers of nodes are the world's own.
func TestSpawnWithoutDeadHosts(t *testing.T) {
	o := options(t, "n[1-4]:2", 2)
	o.Hosts.Prelaunch = true
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	p, err = p.Without([]job.HostIndex{1})
	require.NoError(t, err)
	w, _, err := p.Spawn(spawnOf(3), p.Apps[0], place(p))
	require.NoError(t, err)
	require.Equal(t, "n3:0-1/0 n4:2/0", placesText(w))
	require.Equal(t, "(vector,(0,1,2),(1,1,1))", w.ProcessMapping())
	s := spawnOf(1)
	s.Commands[0].Hints.Hosts = []string{"n2"}
	_, _, err = p.Spawn(s, p.Apps[0], place(p))
	require.ErrorContains(t, err, "host n2 could not be started")
}

// A spawn is planned as if every host had an agent; those it needs get one.
func TestSpawnOnUnusedHosts(t *testing.T) {
	p, err := NewPlan(options(t, "a:2,b:1,c:1,d:1", 1), "here")
	require.NoError(t, err)
	require.Len(t, p.Hosts, 1)
	r := &run{plan: p}
	r.join()
	all := p.withUnused()
	at := place(p)
	at.Used = append(at.Used, 0, 0, 0)
	s := spawnOf(1, 1, 1)
	s.Commands[1].Hints.Hosts = []string{"d"}
	w, _, err := all.Spawn(s, p.Apps[0], at)
	require.NoError(t, err)
	require.Equal(t, "a:0/0 d:1/1 b:2/2", placesText(w))
	needed := r.worlds.missing(w)
	require.Equal(t, "b,d", hostlist.Fold(bare(needed)))

	grown := p.with(needed)
	require.Equal(t, "a,b,d", hostlist.Fold(bare(grown.Hosts)), "hosts keep their index")
	require.Equal(t, "c", hostlist.Fold(bare(grown.Unused)))
	require.Len(t, p.Hosts, 1, "plans never change")
	grown.dead[2] = true // d did not start
	_, _, err = grown.withUnused().Spawn(s, p.Apps[0], SpawnHosts{Used: []int{1, 0, 0, 0}})
	require.ErrorContains(t, err, "host d could not be started")
}

// The numbers of a request come from a node: none of them takes the launcher down.
func TestSpawnOfImpossibleNumbers(t *testing.T) {
	p, err := NewPlan(options(t, "a", 1), "here")
	require.NoError(t, err)
	for text, procs := range map[string][]int{
		"-1 processes": {-1}, "0 processes": {1, 0}, "more than 16777216 processes": {1, MaxRanks},
	} {
		_, _, err := p.Spawn(spawnOf(procs...), job.App{}, place(p))
		require.ErrorContains(t, err, text)
	}
}

package launcher

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// apps is one app for each number of ranks.
func apps(n ...int) []job.App {
	var out []job.App
	for i, n := range n {
		out = append(out, job.App{Argv: []string{fmt.Sprintf("./app%d", i)}, N: n})
	}
	return out
}

// options are those of a job of so many ranks per app on a host list.
func options(t require.TestingT, hosts string, n ...int) *Options {
	o := DefaultOptions()
	o.Programs.Apps, o.Programs.Dir = apps(n...), "/work"
	if hosts != "" {
		var err error
		o.Hosts.List, err = hostlist.Parse(hosts, "-H")
		require.NoError(t, err)
	}
	return &o
}

// perHost is the number of ranks on each host of the plan.
func perHost(p *Plan) []int {
	counts := make([]int, len(p.Hosts))
	for _, b := range p.Blocks {
		counts[b.Host] += b.Count
	}
	return counts
}

func TestPlacement(t *testing.T) {
	for _, c := range []struct {
		name  string
		hosts string
		n     int
		ppn   int
		over  bool
		want  []int
	}{
		{"this machine alone, no -n", "", 0, 0, false, []int{1}},
		{"this machine alone", "", 5, 0, false, []int{5}},
		{"this machine, ppn as size", "", 0, 4, false, []int{4}},
		{"even blocks", "a,b,c", 8, 0, false, []int{3, 3, 2}},
		{"no more hosts than ranks", "a,b,c", 2, 0, false, []int{1, 1}},
		{"one per host", "a,b,c", 0, 0, false, []int{1, 1, 1}},
		{"ppn", "a,b,c", 5, 2, false, []int{2, 2, 1}},
		{"ppn leaves hosts out", "a,b,c", 4, 2, false, []int{2, 2}},
		{"ppn as size", "a,b,c", 0, 2, false, []int{2, 2, 2}},
		{"slots fill in order", "a:4,b:2,c:4", 7, 0, false, []int{4, 2, 1}},
		{"slots as size", "a:4,b:2", 0, 0, false, []int{4, 2}},
		{"unnumbered host among slots is one", "a:2,b,c:2", 0, 0, false, []int{2, 1, 2}},
		{"repeated host is slots", "a,a,b", 0, 0, false, []int{2, 1}},
		{"ppn below the slots", "a:8,b:8", 0, 3, false, []int{3, 3}},
		{"ppn checks only hosts in use", "a:4,b:1", 4, 4, false, []int{4}},
		{"oversubscribe spreads the rest", "a:2,b:2", 9, 0, true, []int{5, 4}},
		{"oversubscribe ppn", "a,b", 5, 2, true, []int{3, 2}},
		{"oversubscribe ppn above slots", "a:1,b:1", 0, 3, true, []int{3, 3}},
		{"oversubscribe not needed", "a:2,b:2", 3, 0, true, []int{2, 1}},
	} {
		o := options(t, c.hosts, c.n)
		o.Placement.PPN, o.Placement.Oversubscribe = c.ppn, c.over
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, perHost(p), c.name)
	}
}

func TestPlanErrors(t *testing.T) {
	for _, c := range []struct {
		o    *Options
		edit func(o *Options)
		want string
	}{
		{options(t, "a:2,b:2", 5), nil,
			"not enough slots: 5 ranks, 4 slots on 2 hosts of -H, 1 missing; add hosts, give more slots (host:N), or --oversubscribe"},
		{options(t, "a:1", 2), nil,
			"not enough slots: 2 ranks, 1 slot on 1 host of -H, 1 missing; add hosts, give more slots (host:N), or --oversubscribe"},
		{options(t, "a,b", 9), func(o *Options) { o.Placement.PPN = 4 },
			"not enough slots: 9 ranks, 8 on 2 hosts of -H with --ppn 4, 1 missing; add hosts, raise --ppn, or --oversubscribe"},
		{options(t, "a:4,b:2", 8), func(o *Options) { o.Placement.PPN = 4 },
			"not enough slots on host b: 4 ranks by --ppn, 2 slots; give it more slots (host:N), lower --ppn, or --oversubscribe"},
		{options(t, "a:1048576,b:1048576,c[1-16]:1048576", 0), nil,
			"-n: the slots hold 18874368 ranks, more than 16777216; give -n"},
		{options(t, "a,here", 2), func(o *Options) { o.Boot.Bootstrap = "fork" },
			"--bootstrap fork: -H: host a is not this machine; use ssh, or --nodes without hosts"},
		{options(t, "a", 2), func(o *Options) { o.Hosts.Nodes = 2 },
			"--nodes makes nodes of this machine and excludes named hosts; leave one out"},
		{options(t, "", 2), func(o *Options) { o.Boot.Bootstrap = "ssh" },
			"--bootstrap ssh: no hosts are named; give --hosts or --hostfile"},
		{options(t, "", 2), func(o *Options) { o.Boot.Bootstrap = "rsh" },
			`--bootstrap: "rsh" is not known; ssh, fork, exec, docker, podman, kubectl, slurm, srun, sge, lsf and pbs are`},
		{options(t, "", 0, 2), nil, "app 0 (./app0): -n is missing; of several apps each needs its own"},
		{options(t, "", 1<<24, 1), nil, "-n: more than 16777216 ranks in all"},
		{options(t, ""), nil, "no program given"},
		{options(t, "", 2), func(o *Options) { o.Programs.Apps[0].Argv = nil }, "app 0: no program given"},
		{options(t, "", 2), func(o *Options) { o.Input.Stdin = 2 }, "--stdin: there is no rank 2 among 2"},
		{options(t, "a,b", 0), func(o *Options) { o.Input.Stdin = 2 }, "--stdin: there is no rank 2 among 2"},
		{options(t, "", 2), func(o *Options) { o.Hosts.Nodes = 1 << 20 }, "--nodes: 1048576 is not 1 to 4096"},
		{options(t, "", 2), func(o *Options) { o.Placement.PPN = -1 }, "--ppn: -1 is not 1 to 16777216"},
		{options(t, "", 2), func(o *Options) { o.Tree.Degree = -1 }, "--degree: -1 is below 1"},
		{options(t, "", 2), func(o *Options) { o.Tree.DegreeRule = "best" }, `--degree-rule: "best" is not a rule; auto and scela are`},
		{options(t, "", 2), func(o *Options) { o.Start.ConnectTimeout = 0 }, "--connect-timeout: 0s is no time; give more than 0"},
		{options(t, "", 2), func(o *Options) { o.Start.StallAfter = -time.Second }, "--stall-after: -1s is negative"},
		{options(t, "", 2), func(o *Options) { o.Start.LostAfter = -time.Second }, "--lost-after: -1s is no time; give more than 0"},
		{options(t, "", 2), func(o *Options) { o.Ending.Timeout = -1 }, "--timeout: -1ns is negative"},
		{options(t, "", 2), func(o *Options) { o.Ending.Grace = -1 }, "--grace: -1ns is negative"},
		{options(t, "", 2), func(o *Options) { o.Output.LineMax = 0 }, "--line-max: 0 is not 1 to 1073741824 bytes"},
		{options(t, "", 2), func(o *Options) { o.Report.Quiet, o.Start.Verbose = true, 1 }, "--quiet and --verbose exclude each other"},
	} {
		if c.edit != nil {
			c.edit(c.o)
		}
		_, err := NewPlan(c.o, "here")
		assert.EqualError(t, err, c.want)
	}
	o := options(t, "", 3)
	o.Hosts.List = []job.Host{{Name: "a", Slots: 1, Pos: "my:hosts:12"}, {Name: "b", Pos: "my:hosts:13"}}
	_, err := NewPlan(o, "here")
	require.ErrorContains(t, err, "2 slots on 2 hosts of my:hosts, 1 missing")
	o = options(t, "", 1)
	o.Output.ErrPattern = "log.%q"
	require.ErrorContains(t, o.Validate(), "--err: ")
	require.Error(t, new(Options).Validate(), "the zero value is no job")
}

func TestBootstrapChoice(t *testing.T) {
	for hosts, want := range map[string]string{
		"":                      "fork here",
		"here":                  "fork here",
		"here.example.org":      "fork here.example.org",
		"localhost:1,127.0.0.1": "fork localhost:1,127.0.0.1",
		"[::1]":                 "fork [::1]",
		"here,there":            "ssh here,there",
		"10.0.0.1":              "ssh 10.0.0.1",
		"joe@here":              "ssh joe@here",
		"here2":                 "ssh here2",
	} {
		p, err := NewPlan(options(t, hosts, 2), "here")
		require.NoError(t, err, hosts)
		assert.Equal(t, want, p.Bootstrap+" "+hostlist.Fold(p.Hosts))
	}
	assert.False(t, isLocal(job.Host{Name: "here.a.org"}, "here.b.org"), "the same name in another domain")
	assert.True(t, isLocal(job.Host{Name: "here"}, "here.b.org"))
	assert.False(t, isLocal(job.Host{Name: "10.0.0.1"}, "10"), "an address has no short form")
	assert.False(t, isLocal(job.Host{Name: "here", Port: 2222}, "here"), "another port is another sshd")
}

func TestForkNodesAreNamedAfterThisMachine(t *testing.T) {
	o := options(t, "", 5)
	o.Hosts.Nodes = 3
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	assert.Equal(t, "here.[0-2]", hostlist.Fold(p.Hosts))
	assert.Equal(t, []int{2, 2, 1}, perHost(p))
	assert.Equal(t, "fork", p.Bootstrap)
}

func TestAppsShareHosts(t *testing.T) {
	o := options(t, "a:3,b:3", 2, 3, 1)
	o.Programs.Apps[1].Dir, o.Programs.Apps[2].Dir = "sub/../other", "/abs"
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	assert.Equal(t, Blocks{
		{Host: 0, First: 0, Count: 2, App: 0},
		{Host: 0, First: 2, Count: 1, App: 1},
		{Host: 1, First: 3, Count: 2, App: 1},
		{Host: 1, First: 5, Count: 1, App: 2},
	}, p.Blocks)
	assert.Equal(t, "(vector,(0,2,3))", p.ProcessMapping(), "blocks of several apps are one tuple")
	var dirs []string
	for _, a := range p.Apps {
		dirs = append(dirs, a.Dir)
	}
	assert.Equal(t, []string{"/work", "/work/other", "/abs"}, dirs)
	assert.Empty(t, o.Programs.Apps[0].Dir, "the options are left alone")
}

func TestWithout(t *testing.T) {
	p, err := NewPlan(options(t, "a:2,b:2,c:4,d:4", 9), "here")
	require.NoError(t, err)
	require.Equal(t, []int{2, 2, 4, 1}, perHost(p))

	q, err := p.Without([]job.HostIndex{1})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 0, 4, 3}, perHost(q))
	assert.Equal(t, []job.NodeID{0, NoNode, 1, 2}, q.NodeOf())
	assert.Equal(t, "(vector,(0,1,2),(1,1,4),(2,1,3))", q.ProcessMapping())
	assert.Equal(t, p.Hosts, q.Hosts)
	assert.Equal(t, []int{2, 2, 4, 1}, perHost(p), "a plan does not change")
	assert.Equal(t, []job.NodeID{0, 1, 2, 3}, p.NodeOf())

	_, err = q.Without([]job.HostIndex{0})
	assert.EqualError(t, err, "without a,b: not enough slots: 9 ranks, 8 slots on 2 hosts of -H, 1 missing; "+
		"add hosts, give more slots (host:N), or --oversubscribe")
	_, err = p.Without([]job.HostIndex{0, 1, 2, 3})
	assert.EqualError(t, err, "no host is left: all 4 are dead")
	_, err = p.Without([]job.HostIndex{4})
	assert.EqualError(t, err, "host 4 is not one of the job's 4")
}

func TestDegree(t *testing.T) {
	for _, c := range []struct {
		rule           string
		nodes, perNode int
		want           int
	}{
		{DegreeAuto, 1, 1, 8},
		{DegreeAuto, 4096, 128, 8}, // local ranks do not count against links
		{DegreeAuto, 1 << 20, 1, 8},
		{"", 64, 1, 8},
		{DegreeScELA, 1, 1, 2},
		{DegreeScELA, 8, 1, 2},
		{DegreeScELA, 9, 1, 3},
		{DegreeScELA, 27, 1, 3},
		{DegreeScELA, 28, 1, 4},
		{DegreeScELA, 4096, 111, 16}, // 111+16+1 is 128: as many as may be
		{DegreeScELA, 4096, 112, 15},
		{DegreeScELA, 4096, 125, 2},
		{DegreeScELA, 4096, 126, 2}, // 1 would be left; never below 2
		{DegreeScELA, 4096, 1000, 2},
		{DegreeScELA, 8, 200, 2},
		{DegreeScELA, 1 << 20, 1, 102},
		{DegreeScELA, 1 << 20, 64, 63},
	} {
		assert.Equal(t, c.want, degreeFor(c.rule, c.nodes, c.perNode, false), "%+v", c)
	}
	for nodes, want := range map[int]int{1: 8, 512: 8, 513: 9, 4096: 16, 1 << 20: 64} {
		assert.Equal(t, want, degreeFor(DegreeAuto, nodes, 128, true), "%d hosts behind relays", nodes)
	}
	o := options(t, "n[1-100]", 100)
	o.Tree.DegreeRule = DegreeScELA
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	assert.Equal(t, 5, p.Degree)
	o.Tree.Degree = 3
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	assert.Equal(t, 3, p.Degree, "--degree rules")
}

func TestStdinTarget(t *testing.T) {
	for _, s := range []string{"0", "17", "all", "none"} {
		target, err := ParseStdin(s)
		require.NoError(t, err)
		assert.Equal(t, s, target.String())
	}
	for _, s := range []string{"", "-1", "x", "1.5", "99999999999"} {
		_, err := ParseStdin(s)
		assert.EqualError(t, err, fmt.Sprintf("%q is not a rank, all or none", s))
	}
	assert.Equal(t, "0", StdinTarget(0).String(), "the zero value is rank 0")
}

// unpack reads a process mapping as a client that repeats nothing does, and
// returns the node of each rank.
func unpack(t require.TestingT, mapping string) []int {
	inner, ok := strings.CutPrefix(mapping, "(vector,")
	require.True(t, ok, mapping)
	var nodes []int
	for tuple := range strings.SplitSeq(strings.TrimSuffix(inner, ")"), "),") {
		var first, count, ranks int
		_, err := fmt.Sscanf(strings.Trim(tuple, "()"), "%d,%d,%d", &first, &count, &ranks)
		require.NoError(t, err)
		for node := first; node < first+count; node++ {
			nodes = append(nodes, slices.Repeat([]int{node}, ranks)...)
		}
	}
	return nodes
}

// fill is the naive oracle of placement: it deals out rank after rank.
func fill(n int, hosts []job.Host, ppn int, over bool) ([]int, error) {
	slotted := slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Slots > 0 })
	counts := make([]int, len(hosts))
	if ppn == 0 && !slotted {
		for i := range n {
			counts[i%len(hosts)]++
		}
		return counts, nil
	}
	placed := 0
	for i, h := range hosts {
		room := ppn
		if ppn == 0 {
			room = max(h.Slots, 1)
		}
		for ; counts[i] < room && placed < n; placed++ {
			counts[i]++
		}
		if slotted && !over && counts[i] > max(h.Slots, 1) {
			return nil, errors.New("host full")
		}
	}
	if placed < n && !over {
		return nil, errors.New("all full")
	}
	for i := 0; placed < n; i, placed = i+1, placed+1 {
		counts[i%len(hosts)]++
	}
	return counts, nil
}

func TestPlanAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hosts []job.Host
		for i := range rapid.IntRange(1, 20).Draw(t, "hosts") {
			slots := rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "slots")
			hosts = append(hosts, job.Host{Name: fmt.Sprintf("n%d", i), Slots: slots})
		}
		o := options(t, "", rapid.SliceOfN(rapid.IntRange(1, 15), 1, 4).Draw(t, "apps")...)
		o.Hosts.List = hosts
		o.Placement.PPN = rapid.IntRange(0, 4).Draw(t, "ppn")
		o.Placement.Oversubscribe = rapid.Bool().Draw(t, "oversubscribe")
		size := 0
		for _, a := range o.Programs.Apps {
			size += a.N
		}
		p, err := NewPlan(o, "here")
		want, wantErr := fill(size, hosts, o.Placement.PPN, o.Placement.Oversubscribe)
		require.Equal(t, wantErr != nil, err != nil, "%v, %v", wantErr, err)
		if err != nil {
			return
		}
		checkPlan(t, p, slices.DeleteFunc(want, func(n int) bool { return n == 0 }))

		var dead []job.HostIndex
		var live []job.Host
		for i, h := range p.Hosts {
			if rapid.Bool().Draw(t, "dead") {
				dead = append(dead, job.HostIndex(i))
			} else {
				live = append(live, h)
			}
		}
		q, err := p.Without(dead)
		if len(live) == 0 {
			require.Error(t, err)
			return
		}
		// The plan of the job has settled whether slots count.
		slotted := slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Slots > 0 })
		if slotted {
			for i := range live {
				live[i].Slots = max(live[i].Slots, 1)
			}
		}
		want, wantErr = fill(size, live, o.Placement.PPN, o.Placement.Oversubscribe)
		require.Equal(t, wantErr != nil, err != nil, "%v, %v", wantErr, err)
		if err == nil {
			checkPlan(t, q, want)
		}
	})
}

// checkPlan checks that the live hosts of p have the wanted numbers of ranks,
// and that blocks and process mapping agree on where each rank is.
func checkPlan(t *rapid.T, p *Plan, want []int) {
	nodes := p.NodeOf()
	var got, ofRank []int
	for h, n := range perHost(p) {
		if nodes[h] == NoNode {
			require.Zero(t, n, "rank on a dead host")
			continue
		}
		require.EqualValues(t, len(got), nodes[h], "nodes are dense")
		require.Positive(t, n, "node without ranks")
		got = append(got, n)
	}
	require.Equal(t, want, got)
	perApp := make([]int, len(p.Apps))
	for _, b := range p.Blocks {
		require.EqualValues(t, len(ofRank), b.First, "ranks are consecutive")
		perApp[b.App] += b.Count
		ofRank = append(ofRank, slices.Repeat([]int{int(nodes[b.Host])}, b.Count)...)
	}
	for i, a := range p.Apps {
		require.Equal(t, a.N, perApp[i])
	}
	require.Len(t, ofRank, p.Size)
	require.Equal(t, ofRank, unpack(t, p.ProcessMapping()))
}

// TestPlanGolden holds what --dry-run prints. Each command is a line of flags;
// dead= leaves hosts out afterwards.
func TestPlanGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/plan", func(t *testing.T, d *datadriven.TestData) string {
		o := DefaultOptions()
		o.Programs.Dir = "/work"
		f := pflag.NewFlagSet("plan", pflag.ContinueOnError)
		f.SetInterspersed(false)
		sizes := f.IntSliceP("np", "n", []int{0}, "")
		hosts := f.String("hosts", "", "")
		dead := f.IntSlice("dead", nil, "")
		f.IntVar(&o.Placement.PPN, "ppn", 0, "")
		f.IntVar(&o.Hosts.Nodes, "nodes", 0, "")
		f.IntVar(&o.Tree.Degree, "degree", 0, "")
		f.BoolVar(&o.Placement.Oversubscribe, "oversubscribe", false, "")
		f.StringVar(&o.Tree.DegreeRule, "degree-rule", "", "")
		f.StringVar(&o.Boot.Bootstrap, "bootstrap", "", "")
		from := f.String("exec-from", "", "")
		require.NoError(t, f.Parse(strings.Fields(d.Input)))
		o.Boot.Values = bootstrap.Values{"exec-from": *from}
		if o.Boot.Bootstrap == "exec" {
			o.Boot.Values["exec-command"] = "docker exec -i {host} {command}"
		}
		o.Programs.Apps = apps(*sizes...)
		if f.NArg() > 0 {
			o.Programs.Apps[0] = job.App{Argv: f.Args(), N: o.Programs.Apps[0].N, Env: []string{"A=1", "B=two words"}, Dir: "sub", DirGiven: true}
		}
		var err error
		if *hosts != "" {
			o.Hosts.List, err = hostlist.Parse(*hosts, "-H")
			require.NoError(t, err)
		}
		p, err := NewPlan(&o, "here")
		if err == nil && len(*dead) > 0 {
			var index []job.HostIndex
			for _, h := range *dead {
				index = append(index, job.HostIndex(h))
			}
			p, err = p.Without(index)
		}
		if err != nil {
			return err.Error() + "\n"
		}
		text := p.String() + "\nmapping " + p.ProcessMapping() + "\n"
		if len(p.Relays) > 0 && len(p.Hosts) <= 32 {
			text += "tree" + shown(p) + "\n"
		}
		return text
	})
}

// shown is the tree of a plan with relays: a relay's name and in brackets what
// it starts.
func shown(p *Plan) string {
	entries := p.entries()
	var b strings.Builder
	var show func(at int) int
	show = func(at int) int {
		e := entries[at]
		fmt.Fprintf(&b, " %s", e.Name)
		if e.Below == 0 {
			return at + 1
		}
		b.WriteString(" [")
		next := at + 1
		for next <= at+e.Below {
			next = show(next)
		}
		b.WriteString(" ]")
		return next
	}
	show(0)
	return b.String()
}

// A job can do without a host if the others have room for its ranks.
func TestRedundant(t *testing.T) {
	for _, x := range []struct {
		hosts  string
		n      int
		change func(*Options)
		want   bool
	}{
		{"n[1-4]", 4, nil, true}, // without slots the others take more
		{"n1", 1, nil, false},
		{"n[1-4]:2", 8, nil, false},
		{"n[1-5]:2", 8, func(o *Options) { o.Hosts.Spares = 1 }, true},
		{"n[1-4]:2", 8, func(o *Options) { o.Placement.Oversubscribe = true }, true},
		{"n1:8,n[2-4]:2", 8, func(o *Options) { o.Hosts.Prelaunch = true }, false}, // six are left without the first
		{"n1:6,n[2-4]:2", 6, func(o *Options) { o.Hosts.Prelaunch = true }, true},
	} {
		o := options(t, x.hosts, x.n)
		if x.change != nil {
			x.change(o)
		}
		p, err := NewPlan(o, "here")
		require.NoError(t, err)
		require.Equal(t, x.want, p.redundant(), "%s -n %d", x.hosts, x.n)
	}
}

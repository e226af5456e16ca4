package launcher

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/hostlist"
	"github.com/golaunch/golaunch/job"
)

// NoNode is the NodeID of a host that is dead.
const NoNode job.NodeID = -1

// Plan is everything that is decided before the first process starts. It is a
// value: the same options give the same plan, and it never changes.
type Plan struct {
	Bootstrap string // BootstrapFork, BootstrapSSH or BootstrapExec
	Degree    int    // children per node of the tree
	Size      int    // ranks of the world
	// Apps are the programs with their final number of ranks and absolute
	// directories.
	Apps []job.App
	// Hosts are the hosts that get ranks, and after them the spares, or all
	// (Options.Prelaunch), in order; a
	// job.HostIndex is a position in it. Dead hosts keep theirs.
	Hosts []job.Host
	// Unused are the hosts after those: they have no agent.
	Unused []job.Host
	// Spares is how many of Hosts may be dead without anything missing.
	Spares int
	// Blocks tell where the ranks are, in rank order.
	Blocks []job.Block
	// Relays are agents on this machine, without ranks, through which it
	// reaches the hosts where no other can. Their job.HostIndexes follow those
	// of Hosts.
	Relays []string

	dead    []bool // by HostIndex
	rules   rules
	relayed bool // hosts start no others
}

// NewPlan decides hosts, ranks and tree for o; localHost is this machine's
// name. The error says which flag or host to change.
func NewPlan(o *Options, localHost string) (*Plan, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	bootstrap, hosts, err := chooseHosts(o, localHost)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Bootstrap: bootstrap,
		Apps:      slices.Clone(o.Apps),
		rules: rules{
			ppn:           o.PPN,
			slotted:       slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Slots > 0 }),
			oversubscribe: o.Oversubscribe,
		},
	}
	if o.Spares >= len(hosts) {
		return nil, fmt.Errorf("--spares: %s of %s leave no host for ranks; name more hosts", plural(o.Spares, "spare"), plural(len(hosts), "host"))
	}
	within := hosts[:len(hosts)-o.Spares]
	if p.Apps[0].N == 0 { // Validate: it is the only one
		p.Apps[0].N = p.rules.whole(within)
		if p.Apps[0].N > MaxRanks {
			return nil, fmt.Errorf("-n: the slots hold %d ranks, more than %d; give -n", p.Apps[0].N, MaxRanks)
		}
	}
	for i := range p.Apps {
		a := &p.Apps[i]
		p.Size += a.N
		switch {
		case a.Dir == "":
			a.Dir = o.Dir
		case !path.IsAbs(a.Dir):
			a.Dir = path.Join(o.Dir, a.Dir)
		}
	}
	if int(o.Stdin) >= p.Size {
		return nil, fmt.Errorf("--stdin: there is no rank %d among %d", o.Stdin, p.Size)
	}
	counts, err := p.rules.place(p.Size, within)
	if err != nil {
		return nil, err
	}
	used := slices.Index(counts, 0) // ranks never skip a host
	if used < 0 {
		used = len(counts)
	}
	p.Blocks = blocks(p.Apps, counts[:used])
	p.Spares = o.Spares
	used += o.Spares
	if o.Prelaunch {
		used = len(hosts)
	}
	p.Hosts, p.Unused = slices.Clone(hosts[:used]), hosts[used:]
	p.dead = make([]bool, used)
	p.Degree = o.Degree
	if p.Degree == 0 {
		relayed := bootstrap == BootstrapExec && o.ExecFrom != ExecFromNodes
		p.Degree = degreeFor(o.DegreeRule, used, slices.Max(counts), relayed)
	}
	if bootstrap == BootstrapExec {
		return p, p.planExec(o, localHost)
	}
	return p, nil
}

// chooseHosts settles the bootstrap and the hosts it starts agents on.
func chooseHosts(o *Options, localHost string) (bootstrap string, hosts []job.Host, err error) {
	if len(o.Hosts) == 0 {
		if o.Nodes < 2 {
			return BootstrapFork, []job.Host{{Name: localHost, Pos: "this machine"}}, nil
		}
		for i := range o.Nodes {
			hosts = append(hosts, job.Host{Name: fmt.Sprintf("%s.%d", localHost, i), Pos: "--nodes"})
		}
		return BootstrapFork, hosts, nil
	}
	other := slices.IndexFunc(o.Hosts, func(h job.Host) bool { return !isLocal(h, localHost) })
	switch {
	case o.Bootstrap == BootstrapFork && other >= 0:
		h := o.Hosts[other]
		return "", nil, fmt.Errorf("--bootstrap fork: %s: host %s is not this machine; use ssh, or --nodes without hosts", h.Pos, h.Name)
	case o.Bootstrap != "":
		return o.Bootstrap, o.Hosts, nil
	case other >= 0:
		return BootstrapSSH, o.Hosts, nil
	}
	return BootstrapFork, o.Hosts, nil
}

// isLocal tells whether a host is this machine, without asking a resolver: by
// its name, whole or cut at the domain, or as localhost. A host with a user or
// port of its own is meant to be logged in to.
func isLocal(h job.Host, localHost string) bool {
	if h.User != "" || h.Port != 0 {
		return false
	}
	switch h.Name {
	case localHost, "localhost", "127.0.0.1", "::1":
		return true
	}
	if _, err := netip.ParseAddr(h.Name); err == nil {
		return false
	}
	short, _, qualified := strings.Cut(h.Name, ".")
	localShort, _, localQualified := strings.Cut(localHost, ".")
	return short == localShort && qualified != localQualified
}

// blocks cuts the ranks, of which counts[i] go to host i, into runs of one app
// on one host.
func blocks(apps []job.App, counts []int) []job.Block {
	out := make([]job.Block, 0, len(counts)+len(apps))
	first, app, left := 0, 0, apps[0].N
	for h, count := range counts {
		for count > 0 {
			for left == 0 {
				app++
				left = apps[app].N
			}
			n := min(count, left)
			out = append(out, job.Block{Host: job.HostIndex(h), First: job.Rank(first), Count: n, App: app})
			first += n
			left -= n
			count -= n
		}
	}
	return out
}

// Without returns the plan with the dead hosts left out, in addition to those
// that p already is without: hosts keep their HostIndex, and the ranks are
// placed anew on the live ones by the same rules. It is an error if their slots
// do not suffice.
func (p *Plan) Without(dead []job.HostIndex) (*Plan, error) {
	q := *p
	q.dead = slices.Clone(p.dead)
	for _, h := range dead {
		if h < 0 || int(h) >= len(p.Hosts) {
			return nil, fmt.Errorf("host %d is not one of the job's %d", h, len(p.Hosts))
		}
		q.dead[h] = true
	}
	var live, gone []job.Host
	for i, h := range p.Hosts {
		if q.dead[i] {
			gone = append(gone, h)
		} else {
			live = append(live, h)
		}
	}
	if len(live) == 0 {
		return nil, fmt.Errorf("no host is left: all %d are dead", len(p.Hosts))
	}
	// As many hosts as were wanted in the first place; the rest stay spare.
	wanted := min(len(live), len(p.Hosts)-p.Spares)
	placed, err := p.rules.place(p.Size, live[:wanted])
	if err != nil && wanted < len(live) { // unlike slots
		wanted = len(live)
		placed, err = p.rules.place(p.Size, live)
	}
	if err != nil {
		return nil, fmt.Errorf("without %s: %w", hostlist.Fold(bare(gone)), err)
	}
	placed = append(placed, make([]int, len(live)-wanted)...)
	counts := make([]int, len(p.Hosts))
	for i, next := 0, 0; i < len(counts); i++ {
		if !q.dead[i] {
			counts[i] = placed[next]
			next++
		}
	}
	q.Blocks = blocks(p.Apps, counts)
	return &q, nil
}

// redundant tells whether p can do without any one of its hosts.
func (p *Plan) redundant() bool {
	fullest := 0
	for i, h := range p.Hosts {
		if p.rules.room(h) > p.rules.room(p.Hosts[fullest]) {
			fullest = i
		}
	}
	_, err := p.Without([]job.HostIndex{job.HostIndex(fullest)})
	return err == nil
}

// bare returns the hosts without their slots.
func bare(hosts []job.Host) []job.Host {
	hosts = slices.Clone(hosts)
	for i := range hosts {
		hosts[i].Slots = 0
	}
	return hosts
}

// NodeOf maps every HostIndex to its NodeID, NoNode for a dead host. Live hosts
// are numbered densely, in order.
func (p *Plan) NodeOf() []job.NodeID {
	nodes := make([]job.NodeID, len(p.Hosts))
	next := job.NodeID(0)
	for i := range nodes {
		if p.dead[i] {
			nodes[i] = NoNode
			continue
		}
		nodes[i] = next
		next++
	}
	return nodes
}

// ProcessMapping is the world's PMI_process_mapping: tuples of first node,
// number of nodes and ranks on each, in rank order. Nodes are those that hold
// ranks of the world, numbered in the order of hosts. It covers every rank, since
// some clients do not repeat a pattern that falls short.
func (p *Plan) ProcessMapping() string {
	nodes := p.nodes()
	type tuple struct{ node, nodes, ranks int }
	var tuples []tuple
	for i := 0; i < len(p.Blocks); {
		node, _ := slices.BinarySearch(nodes, p.Blocks[i].Host)
		t := tuple{node: node, nodes: 1}
		for host := p.Blocks[i].Host; i < len(p.Blocks) && p.Blocks[i].Host == host; i++ {
			t.ranks += p.Blocks[i].Count
		}
		if n := len(tuples); n > 0 {
			last := &tuples[n-1]
			if last.ranks == t.ranks && last.node+last.nodes == t.node {
				last.nodes++
				continue
			}
		}
		tuples = append(tuples, t)
	}
	var b strings.Builder
	b.WriteString("(vector")
	for _, t := range tuples {
		fmt.Fprintf(&b, ",(%d,%d,%d)", t.node, t.nodes, t.ranks)
	}
	b.WriteString(")")
	return b.String()
}

// nodes are the hosts that hold ranks, in order.
func (p *Plan) nodes() []job.HostIndex {
	hosts := make([]job.HostIndex, len(p.Blocks))
	for i, b := range p.Blocks {
		hosts[i] = b.Host
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

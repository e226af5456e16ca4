package launcher

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/network/placement"
)

// NoNode is the NodeID of a dead host.
const NoNode job.NodeID = -1

// Plan is everything that is decided before the first process starts. It is a
// value: the same options give the same plan, and it never changes.
type Plan struct {
	Bootstrap string // bootstrap.Kind.Name
	Degree    int    // children per node of the tree
	Size      int    // ranks of the world
	// Apps are the programs with their final number of ranks and absolute
	// directories.
	Apps []job.App
	// Hosts are the hosts that get ranks, and after them the spares, or all
	// (HostOptions.Prelaunch), in order; a
	// job.HostIndex is a position in it. Dead hosts keep theirs.
	Hosts []job.Host
	// Unused are the hosts after those: they have no agent.
	Unused []job.Host
	// reserve are hosts beyond HostOptions.RankHosts, which take the place of dead ones only.
	reserve []job.Host
	// Spares is the number of Hosts that may be dead without anything missing: the last
	// ones.
	Spares int
	// Crowded compares hosts that are fuller than without spares, "" if none is.
	Crowded string
	// Blocks tell where the ranks are, in rank order.
	Blocks Blocks
	// Relays are agents on this machine, without ranks, through which it
	// reaches the hosts where no other can. Their job.HostIndexes follow those
	// of Hosts.
	Relays []string

	kind bootstrap.Kind // of Bootstrap
	// containers says that the hosts are containers, which have environments of their own.
	containers bool
	outside    string // the reason that the manager whose job this is starts no agents, "" where it does
	network    planNetwork
	dead       []bool // by HostIndex
	rules      rules
	bindTo     string            // StartOptions.BindTo
	given      []string          // ProgramOptions.EnvGiven
	placed     *placement.Placed // for the account of Blocks
	relayed    bool              // hosts start no others

	allocation *Allocation   // nil where no other golaunch counts
	parts      overlay.Share // of each of its slots: CPUs, GPUs
	rankHosts  int           // HostOptions.RankHosts
}

// NewPlan decides hosts, ranks and tree for o; localHost is this machine's
// name. The error says which flag or host to change.
func NewPlan(o *Options, localHost string) (*Plan, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	kind, hosts, outside, err := chooseHosts(o, localHost)
	if err != nil {
		return nil, err
	}
	p := &Plan{allocation: o.Hosts.Allocation, parts: o.parts(), rankHosts: o.Hosts.RankHosts, Bootstrap: kind.Name, kind: kind, outside: outside, Apps: appsIn(o), bindTo: o.Start.BindTo, given: o.Programs.EnvGiven}
	if o.Start.AgentPath != "" && (kind.Here || kind.Bulk) {
		return nil, fmt.Errorf("--agent-path: --bootstrap %s starts golaunch by its own path; leave it out", kind.Name)
	}
	p.containers = kind.Container != nil && kind.Container(o.Boot.Values)
	if p.rules, err = newRules(o, hosts); err != nil {
		return nil, err
	}
	if hosts, err = p.arrange(o, hosts); err != nil {
		return nil, err
	}
	if few := o.Hosts.RankHosts + o.Hosts.Spares; o.Hosts.RankHosts > 0 && few < len(hosts) {
		hosts, p.reserve = hosts[:few], hosts[few:]
	}
	if hosts, err = p.placeAll(o, hosts); err != nil {
		return nil, err
	}
	hosts, used, most := p.usedFirst(hosts)
	p.Spares = o.Hosts.Spares
	used += o.Hosts.Spares
	if o.Hosts.Prelaunch {
		used = len(hosts)
	}
	if more := min(o.attempt.agents-len(hosts), len(p.reserve)); more > 0 {
		hosts, p.reserve = slices.Concat(hosts, p.reserve[:more]), p.reserve[more:]
	}
	used = max(used, min(o.attempt.agents, len(hosts)))
	p.Hosts, p.Unused = slices.Clone(hosts[:used]), hosts[used:]
	p.dead = make([]bool, used)
	p.Degree = o.Tree.Degree
	if p.Degree == 0 {
		p.Degree = degreeFor(o.Tree.DegreeRule, used, most, launcherOnly(kind, o))
	}
	if err := p.checkHosts(o); err != nil {
		return nil, err
	}
	if launcherOnly(kind, o) {
		return p, p.planRelays(o, localHost)
	}
	p.cutTree()
	return p, nil
}

// appsIn returns the apps with absolute directories.
func appsIn(o *Options) []job.App {
	apps := slices.Clone(o.Programs.Apps)
	for i := range apps {
		switch a := &apps[i]; {
		case a.Dir == "":
			a.Dir = o.Programs.Dir
		case !path.IsAbs(a.Dir):
			a.Dir = path.Join(o.Programs.Dir, a.Dir)
		}
	}
	return apps
}

// placeAll places the ranks on hosts, but for the spares, and counts them. It returns
// the hosts that are preferred first.
func (p *Plan) placeAll(o *Options, hosts []job.Host) ([]job.Host, error) {
	if o.Hosts.Spares >= len(hosts) {
		return nil, fmt.Errorf("--spares: %s of %s leave no host for ranks; name more hosts", plural(o.Hosts.Spares, "spare"), plural(len(hosts), "host"))
	}
	hosts, notes := p.preferred(hosts)
	within := first(len(hosts) - o.Hosts.Spares)
	var err error
	if p.placed, err = p.rules.placeApps(p.Apps, p.rules.open, hosts, within, p.rules.place); err != nil {
		if o.Hosts.Spares > 0 {
			err = fmt.Errorf("--spares %d keeps %s free: %w; or lower --spares", o.Hosts.Spares, hostlist.Fold(bare(hosts[len(within):])), err)
		}
		return nil, err
	}
	p.Blocks, p.placed.Notes = p.placed.Blocks, slices.Concat(notes, p.placed.Notes)
	if o.Hosts.Spares > 0 {
		p.Crowded = p.crowded(hosts, len(within))
	}
	return hosts, p.count()
}

// chooseHosts settles the bootstrap and the hosts it starts agents on. obstacle is the
// reason that the manager whose job this is cannot start them.
func chooseHosts(o *Options, localHost string) (kind bootstrap.Kind, hosts []job.Host, obstacle string, err error) {
	local := registry.Local()
	if hosts, err = o.allHosts(); err != nil {
		return kind, nil, "", err
	}
	if len(hosts) == 0 {
		if o.Hosts.Nodes == 0 || o.Hosts.Nodes == 1 && o.Hosts.Spares == 0 {
			return local, []job.Host{{Name: localHost, Pos: "this machine"}}, "", nil
		}
		for i := range o.Hosts.Nodes + o.Hosts.Spares {
			hosts = append(hosts, job.Host{Name: fmt.Sprintf("%s.%d", localHost, i), Pos: "--nodes"})
		}
		return local, hosts, "", nil
	}
	other := slices.IndexFunc(hosts, func(h job.Host) bool { return !isLocal(h, localHost) })
	kind, given := registry.Find(o.Boot.Bootstrap) // Validate: "" or known
	switch {
	case kind.Here && other >= 0:
		h := hosts[other]
		return kind, nil, "", fmt.Errorf("--bootstrap %s: %s: host %s is not this machine; use %s, or --nodes without hosts",
			kind.Name, h.Pos, h.Name, registry.Remote(o.Boot.Environ).Name)
	case given:
		return kind, hosts, "", nil
	case other >= 0:
		kind, obstacle = registry.For(o.Boot.Environ, hosts)
		return kind, hosts, obstacle, nil
	}
	return local, hosts, "", nil
}

// isLocal reports whether a host is this machine, without asking a resolver: by its
// name, whole or cut at the domain, or as localhost. A host with a user or port of its
// own is meant to be logged in to.
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

// count sets Size, and the number of ranks of an app that leaves it open, to the placed
// ranks.
func (p *Plan) count() error {
	p.Size = 0
	for _, b := range p.Blocks {
		p.Size += b.Count
	}
	if p.rules.open {
		p.Apps[0].N = p.Size
		if p.Size > MaxRanks {
			return fmt.Errorf("-n: the slots hold %d ranks, more than %d; give -n", p.Size, MaxRanks)
		}
	}
	if int(p.rules.stdin) >= p.Size {
		return fmt.Errorf("--stdin: there is no rank %d among %d", p.rules.stdin, p.Size)
	}
	return nil
}

// usedFirst puts the hosts that hold ranks before the others and renumbers the blocks,
// which no other plan has yet. used counts the hosts with ranks, most the ranks of the
// fullest.
func (p *Plan) usedFirst(hosts []job.Host) (sorted []job.Host, used, most int) {
	counts := make([]int, len(hosts))
	for _, b := range p.Blocks {
		counts[b.Host] += b.Count
	}
	index := make([]job.HostIndex, len(hosts))
	var idle []job.Host
	for i, h := range hosts {
		if counts[i] == 0 {
			idle = append(idle, h)
			continue
		}
		index[i] = job.HostIndex(len(sorted))
		sorted = append(sorted, h)
	}
	for i := range p.Blocks {
		p.Blocks[i].Host = index[p.Blocks[i].Host]
	}
	return append(sorted, idle...), len(sorted), slices.Max(counts)
}

// Without returns the plan with the dead hosts left out, in addition to those
// that p already is without: hosts keep their HostIndex, and the ranks are
// placed anew on the live ones by the same rules. It is an error if their slots
// do not suffice. Where neither their number nor slots were given, the ranks of
// dead hosts are none, but for those that a spare takes.
func (p *Plan) Without(dead []job.HostIndex) (*Plan, error) { return p.without(dead, p.rules.place) }

// without is Without, where place places the ranks.
func (p *Plan) without(dead []job.HostIndex, place placeFunc) (*Plan, error) {
	q := *p
	q.dead = slices.Clone(p.dead)
	for _, h := range dead {
		if h < 0 || int(h) >= len(p.Hosts) {
			return nil, fmt.Errorf("host %d is not one of the job's %d", h, len(p.Hosts))
		}
		q.dead[h] = true
	}
	var gone []job.Host
	for i, h := range p.Hosts {
		if q.dead[i] {
			gone = append(gone, h)
		}
	}
	if len(gone) == len(p.Hosts) {
		return nil, fmt.Errorf("no host is left: all %d are dead", len(p.Hosts))
	}
	wanted, rest := q.standIns()
	var err error
	q.placed, err = p.rules.placeApps(p.Apps, p.rules.follows(), p.Hosts, wanted, place)
	if err != nil && len(rest) > 0 { // unlike slots
		q.placed, err = p.rules.placeApps(p.Apps, p.rules.follows(), p.Hosts, append(wanted, rest...), place)
	}
	q.Apps = slices.Clone(p.Apps)
	if err == nil {
		q.Blocks = q.placed.Blocks
		err = q.count()
	}
	if err != nil {
		return nil, fmt.Errorf("without %s: %w%s", hostlist.Fold(bare(gone)), err, p.spareHint())
	}
	return &q, nil
}

// redundant reports whether p can do without any one of its hosts.
func (p *Plan) redundant() bool {
	if apart(p.Apps) {
		return false // each app wants one of its own
	}
	if p.mayReplace() {
		p = p.withMore(p.standby())
	}
	fullest := 0
	for i, h := range p.Hosts {
		if p.rules.room(h) > p.rules.room(p.Hosts[fullest]) {
			fullest = i
		}
	}
	_, err := p.without([]job.HostIndex{job.HostIndex(fullest)}, p.rules.chosen)
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

// ProcessMapping returns the world's PMI_process_mapping: tuples of first node, number
// of nodes and ranks on each, in rank order. Nodes are hosts with ranks of the world,
// numbered in the order of hosts. It covers every rank, since some clients do not
// repeat a pattern that falls short.
func (p *Plan) ProcessMapping() string {
	nodes := p.Blocks.hosts()
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

// nodeNames returns the names of the hosts that hold ranks, as hostlist.Fold has them.
func (p *Plan) nodeNames() string {
	var names []job.Host
	for _, h := range p.Blocks.hosts() {
		names = append(names, job.Host{Name: p.Hosts[h].Name})
	}
	return hostlist.Fold(names)
}

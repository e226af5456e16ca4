package placement

import (
	"errors"
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/mapping"
	"github.com/golaunch/golaunch/network/placement/rankfile"
)

// Wish holds a user's wishes for the placement of ranks. The zero value leaves it to
// rule Slot.
type Wish struct {
	Rule   string         // one of Names; "" is Slot
	Order  string         // one of Orders, by which ranks are numbered; "" leaves it to the rule
	Metric mapping.Metric // by which maps are chosen; "" is the first of mapping.Metrics
	// Graph has the ranks' messages, for rules Comm and Topology; nil if they are not
	// known.
	Graph *Graph
	// RankFile is that of rule File.
	RankFile *rankfile.File
	// Sequence are the names of hosts for rule Seq, one for each rank; nil has each
	// host once.
	Sequence []string
	// AvoidConflicts has hosts chosen that share no link, if there are more than
	// the ranks need.
	AvoidConflicts bool

	seats *seats // of rules that list hosts, once At has found these
}

// Graph is a communication graph with the user's name of it.
type Graph struct {
	*commgraph.Graph
	From string
}

// row returns the table's row of a wish's rule.
func (w *Wish) row() *row {
	for i := range rules {
		if rules[i].name == w.Rule {
			return &rules[i]
		}
	}
	return &rules[0]
}

// Check refuses contradictory wishes, and those that ask for a network where none is
// known. The error names the flag.
func (w *Wish) Check(network bool) error {
	r := w.row()
	by := "--map-by " + strings.TrimSuffix(r.name, ":")
	o := orderOf(w.Order)
	switch {
	case w.Rule != "" && r.name != w.Rule:
		return fmt.Errorf("--map-by: %q is no rule", w.Rule)
	case w.Order != "" && o == nil:
		return fmt.Errorf("--rank-by: %q is no order; %s and %sN are", w.Order, strings.Join(Orders(), ", "), Plane)
	case w.Metric != "" && !w.Metric.Known():
		return fmt.Errorf("--metric: %q is none; %s are", w.Metric, join(mapping.Metrics()))
	case r.network && !network:
		return fmt.Errorf("%s: %w", by, errNoNetwork)
	case o != nil && o.network && !network:
		return fmt.Errorf("--rank-by %s: %w", o.name, errNoNetwork)
	case w.AvoidConflicts && !network:
		return errors.New("--avoid-path-conflict: it is not known which hosts share links; name the network with --topology")
	case r.listed && w.Order != "":
		return fmt.Errorf("--rank-by: %s says already where each rank is; leave one out", by)
	case w.Graph != nil && w.Order != "":
		return fmt.Errorf("--rank-by: ranks are numbered by %s; leave one out", w.Graph.From)
	case w.Graph != nil && !r.mapped:
		return fmt.Errorf("%s: it does not go by %s; leave one out", by, w.Graph.From)
	case w.Graph == nil && r.name == Comm:
		return errors.New("--map-by comm: there is no communication graph")
	case w.Graph == nil && w.Metric != "":
		return errors.New("--metric: maps are chosen by it where a communication graph is given, with --map-by comm:GRAPH")
	case r.name == File && w.RankFile == nil:
		return errors.New("--map-by file: there is no rank file")
	}
	return nil
}

// WithinApps reports whether the ranks of each app can be placed for themselves.
func (w *Wish) WithinApps() bool {
	r := w.row()
	return !r.listed && !r.mapped
}

// At returns the wish with the hosts that it names found among those of the job, which
// are in the user's order. The error names the line of a rank file.
func (w *Wish) At(hosts []job.Host) (Wish, error) {
	found := *w
	var err error
	switch w.row().name {
	case File:
		found.seats, err = seatsOf(w.RankFile, hosts)
	case Seq:
		found.seats = inSequence(w.Sequence, hosts)
	}
	return found, err
}

// Placed is a placement of ranks.
type Placed struct {
	Blocks []job.Block
	Notes  []string // departures from the wish, for users
	Mapped *Mapped  // mapping of ranks by a graph; nil if there was none
}

// Place places the ranks of in. The wish is one that Check has let pass, and At has
// returned.
func (w *Wish) Place(in *Input) (*Placed, error) {
	blocks, err := w.Chosen(in)
	if err != nil || w.Order == "" && !w.row().mapped {
		return &Placed{Blocks: blocks}, err
	}
	hosts := in.expand(blocks)
	p := &Placed{}
	if o := orderOf(w.Order); o != nil {
		hosts, err = o.number(in, hosts)
	} else {
		hosts = p.mapRanks(w, in, hosts)
	}
	if err == nil {
		p.Blocks = in.blocks(Fold(hosts))
	}
	return p, err
}

// Chosen returns the first half of Place, and quick: blocks with as many ranks on each
// host as Place puts there, numbered as the rule alone does it.
func (w *Wish) Chosen(in *Input) ([]job.Block, error) {
	r := w.row()
	blocks, err := Place(r.rule(w), in)
	if err != nil && r.listed {
		err = fmt.Errorf("--map-by: %w", err)
	}
	return blocks, err
}

// expand returns the host of each rank, a position in in.Hosts.
func (in *Input) expand(blocks []job.Block) (hosts []int) {
	at := make(map[job.HostIndex]int, len(in.Hosts))
	for i := range in.Hosts {
		at[in.Hosts[i].Index] = i
	}
	for _, b := range blocks {
		for range b.Count {
			hosts = append(hosts, at[b.Host])
		}
	}
	return hosts
}

func join[T ~string](words []T) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return strings.Join(all, ", ")
}

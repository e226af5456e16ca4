// Package match finds a job's hosts among the hosts of a graph: a fabric's names of
// adapters ("n001 HCA-1", "n001.example.org mlx5_0", a GUID) differ from a host file's
// names of machines (n001).
package match

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/topology"
)

// Result tells for each of a job's hosts which hosts of the graph it is.
type Result struct {
	// Adapters has, for each name in the order given, its hosts in the graph:
	// none where the graph lacks it, several where it has several adapters, the
	// first adapter first.
	Adapters [][]topology.Node
	names    []string
	g        *topology.Graph
}

// Hosts finds each name among the hosts of g. A name is that of a host if the
// user's map says so; else if it is the host's name or the first word of its
// description, in any case; else if that is so once the name, or the host's, is
// cut at its first dot. It fails where a short name could be two machines, and
// where two names are one machine.
func Hosts(g *topology.Graph, names []string, m Map) (*Result, error) {
	f := NewFinder(g)
	r := &Result{Adapters: make([][]topology.Node, len(names)), names: names, g: g}
	taken := map[topology.Node]int{}
	for i, name := range names {
		hosts, err := f.mapped(m, name)
		if err != nil {
			return nil, err
		}
		if hosts == nil {
			if hosts, err = f.Find(name); err != nil {
				return nil, fmt.Errorf("%w, or a map file", err)
			}
		}
		for _, n := range hosts {
			if other, ok := taken[n]; ok {
				return nil, fmt.Errorf("hosts %s and %s are both %s of the network; a map file can tell them apart", names[other], name, g.Name(n))
			}
			taken[n] = i
		}
		r.Adapters[i] = hosts
	}
	return r, nil
}

// First returns the first adapter of each name that the graph has, and of the index of
// that name.
func (r *Result) First() (nodes []topology.Node, of []int) {
	for i, hosts := range r.Adapters {
		if len(hosts) > 0 {
			nodes, of = append(nodes, hosts[0]), append(of, i)
		}
	}
	return nodes, of
}

// Missing returns the names that the graph lacks, in their order.
func (r *Result) Missing() []string {
	var list []string
	for i, hosts := range r.Adapters {
		if len(hosts) == 0 {
			list = append(list, r.names[i])
		}
	}
	return list
}

// Warning names the hosts that the graph lacks, with advice; it is empty if there are
// none.
func (r *Result) Warning() string {
	missing := r.Missing()
	if len(missing) == 0 {
		return ""
	}
	hosts := make([]job.Host, len(missing))
	for i, name := range missing {
		hosts[i].Name = name
	}
	which := fmt.Sprintf("%s; --map FILE says which of its hosts (%s) they are", hostlist.Fold(hosts), r.called())
	if len(missing) == len(r.names) {
		return "no host of the job is in the network: " + which
	}
	return fmt.Sprintf("%d of %d hosts are not in the network and keep their order: %s", len(missing), len(r.names), which)
}

// called shows how the network's hosts are called in a map file.
func (r *Result) called() string {
	var first []string
	for n := range r.g.AllHosts() {
		if len(first) == 2 {
			first = append(first, "...")
			break
		}
		first = append(first, cmp.Or(r.g.Info(n).Description, r.g.Name(n)))
	}
	return strings.Join(first, ", ")
}

// Finder has the hosts of a graph by their possible names. It is immutable; its methods
// may be called from anywhere at once.
type Finder struct {
	g     *topology.Graph
	exact map[string][]topology.Node // by lower-case names
	short map[string][]string        // the keys of exact, by what stands before the first dot
	ids   map[entry][]topology.Node  // by GUID, LID, name or description, as in a map file
}

// NewFinder returns the names of all hosts of g.
func NewFinder(g *topology.Graph) *Finder {
	f := &Finder{g: g, exact: map[string][]topology.Node{}, short: map[string][]string{}, ids: map[entry][]topology.Node{}}
	for n := range g.AllHosts() {
		info := g.Info(n)
		f.ids[entry{guid: info.GUID}] = append(f.ids[entry{guid: info.GUID}], n)
		f.ids[entry{lid: info.LID}] = append(f.ids[entry{lid: info.LID}], n)
		texts := []string{info.Description, g.Name(n)}
		for _, text := range slices.Compact(texts) {
			f.ids[entry{text: text}] = append(f.ids[entry{text: text}], n)
		}
		words := []string{strings.ToLower(g.Name(n)), machine(info.Description), machine(g.Name(n))}
		machines := words[1:]
		for i, word := range words {
			if word == "" || slices.Contains(words[:i], word) {
				continue
			}
			// "n001.a HCA-1" and "n001.a" are one machine: only the latter is cut.
			if f.exact[word] == nil && slices.Contains(machines, word) {
				f.short[shorten(word)] = append(f.short[shorten(word)], word)
			}
			f.exact[word] = append(f.exact[word], n)
		}
	}
	return f
}

// machine returns the first word of a description: "n001" of "n001 HCA-1".
func machine(description string) string {
	fields := strings.FieldsFunc(description, func(r rune) bool { return r == ' ' || r == '\t' || r == '/' || r == ':' || r == '\'' })
	if len(fields) == 0 {
		return ""
	}
	return strings.ToLower(fields[0])
}

// shorten cuts a name at its first dot; addresses stay whole.
func shorten(name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return name
	}
	short, _, _ := strings.Cut(name, ".")
	return short
}

// Find returns the hosts of a name, as Hosts finds them without a map: several where a
// machine has several adapters, the first adapter first; none where the graph
// lacks it. The error names two machines that a short name could be.
func (f *Finder) Find(name string) ([]topology.Node, error) {
	key := strings.ToLower(strings.TrimSuffix(name, "."))
	if hosts := f.exact[key]; hosts != nil {
		return f.sorted(hosts), nil
	}
	var found []string
	for _, other := range f.short[shorten(key)] {
		// n001.a is not n001.b; one of the two has to be the short one.
		if shorten(key) == key || shorten(other) == other {
			found = append(found, other)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return f.sorted(f.exact[found[0]]), nil
	}
	slices.Sort(found)
	return nil, fmt.Errorf("host %s could be %s or %s of the network; give its full name", name, found[0], found[1])
}

// sorted puts adapters in the order of their names, in which numbers count:
// mlx5_2 is before mlx5_10.
func (f *Finder) sorted(hosts []topology.Node) []topology.Node {
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b topology.Node) int {
		return cmp.Or(natural(f.g.Info(a).Description, f.g.Info(b).Description), cmp.Compare(a, b))
	})
	return hosts
}

// natural compares with runs of digits as numbers.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

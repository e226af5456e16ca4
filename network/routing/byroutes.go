package routing

import (
	"cmp"
	"slices"

	"github.com/golaunch/golaunch/network/topology"
)

// byRoutes derives an order of all hosts of a fat tree from the routes alone,
// whatever numbers a subnet manager gave the hosts.
//
// Shift has no contention at a switch if the hosts that follow each other go upward
// from it by its ports in turn, always the same turn. So two hosts below different leaf
// switches have to be at the same place below theirs if other leaf switches send to
// them by the same port; two leaf switches at the same place below their parents if
// switches of level 2 send to their hosts, place by place, by the same ports; and so
// on. The order of the places does not matter.
func byRoutes(r Router, f *topology.FatTree) []topology.Node {
	g := r.Graph()
	var hosts []topology.Node
	for h := range g.AllHosts() {
		if f.Level(h) == 0 {
			hosts = append(hosts, h)
		}
	}
	slices.SortFunc(hosts, func(a, b topology.Node) int { return cmp.Compare(f.Index(a), f.Index(b)) })
	if len(hosts) == 0 {
		return slices.Collect(g.AllHosts())
	}
	key := make([]int, g.Hosts()) // places of a host up to a level, mixed radix
	size := 1                     // of the keys
	for level := 1; level < f.Levels(); level++ {
		p := placer{f: f, level: level, key: key, size: size, labels: labels(r, f, hosts, level)}
		count := p.place(hosts)
		for _, h := range hosts {
			key[h] += size * p.at[f.Index(h)/f.Below(level-1)]
		}
		size *= max(1, count)
	}
	top := f.Below(f.Levels() - 1)
	slices.SortStableFunc(hosts, func(a, b topology.Node) int {
		return cmp.Or(cmp.Compare(f.Index(a)/top, f.Index(b)/top), cmp.Compare(key[a], key[b]))
	})
	for h := range g.AllHosts() {
		if f.Level(h) != 0 {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// labels returns, for each host, the link by which a switch of a level sends upward to
// it, as seen from one source; NoLink if that is not known. For the hosts that are
// below the same switches as that source, another source's links count, in terms of
// those by which the first sends to the same third hosts.
func labels(r Router, f *topology.FatTree, hosts []topology.Node, level int) []topology.Link {
	from := func(src topology.Node) []topology.Link {
		g := r.Graph()
		seen := slices.Repeat([]topology.Link{topology.NoLink}, g.Hosts())
		var route []Step
		var err error
		for _, h := range hosts {
			route, err = r.Append(route[:0], src, h)
			if err != nil || len(route) <= level+1 {
				continue
			}
			l := route[level].Link
			if f.Level(g.From(l).Node) == level && f.Level(g.To(l).Node) == level+1 {
				seen[h] = l
			}
		}
		return seen
	}
	first := from(hosts[0])
	other := slices.IndexFunc(hosts, func(h topology.Node) bool {
		return f.Index(h)/f.Below(level) != f.Index(hosts[0])/f.Below(level)
	})
	if other < 0 {
		return first
	}
	second := from(hosts[other])
	same := map[topology.Link]map[topology.Link]int{}
	for _, h := range hosts {
		if first[h] != topology.NoLink && second[h] != topology.NoLink {
			if same[second[h]] == nil {
				same[second[h]] = map[topology.Link]int{}
			}
			same[second[h]][first[h]]++
		}
	}
	for _, h := range hosts {
		if first[h] != topology.NoLink || second[h] == topology.NoLink {
			continue
		}
		first[h] = second[h]
		votes := 0
		for l, n := range same[second[h]] {
			if n > votes || n == votes && l < first[h] {
				first[h], votes = l, n
			}
		}
	}
	return first
}

// A placer gives the children of all nodes of a level their places.
type placer struct {
	f      *topology.FatTree
	level  int
	key    []int // of each host below a child
	size   int   // keys are less
	labels []topology.Link
	at     []int             // place of each child, by its number in the tree
	places [][]topology.Link // labels of the children of each place, by key
}

// place returns how many places there are. Children of different parents are at
// the same place if their hosts' labels agree best.
func (p *placer) place(hosts []topology.Node) int {
	child := func(h topology.Node) int { return p.f.Index(h) / p.f.Below(p.level-1) }
	parent := func(h topology.Node) int { return p.f.Index(h) / p.f.Below(p.level) }
	p.at = make([]int, p.f.Tuple.Hosts()/p.f.Below(p.level-1))
	taken := map[int]bool{}
	for i := 0; i < len(hosts); {
		end := i + 1
		for end < len(hosts) && child(hosts[end]) == child(hosts[i]) {
			end++
		}
		if i == 0 || parent(hosts[i]) != parent(hosts[i-1]) {
			clear(taken)
		}
		place := p.match(hosts[i:end], taken)
		taken[place] = true
		p.at[child(hosts[i])] = place
		i = end
	}
	return len(p.places)
}

// match returns the place whose labels agree with those of a child's hosts most often,
// a new one if none does.
func (p *placer) match(hosts []topology.Node, taken map[int]bool) int {
	best, most := -1, 0
	for i, labels := range p.places {
		if taken[i] {
			continue
		}
		agree := 0
		for _, h := range hosts {
			switch l := labels[p.key[h]]; {
			case l == topology.NoLink || p.labels[h] == topology.NoLink:
			case l == p.labels[h]:
				agree++
			default:
				agree--
			}
		}
		if agree > most {
			best, most = i, agree
		}
	}
	if best < 0 {
		best = len(p.places)
		p.places = append(p.places, slices.Repeat([]topology.Link{topology.NoLink}, p.size))
	}
	for _, h := range hosts {
		if p.places[best][p.key[h]] == topology.NoLink {
			p.places[best][p.key[h]] = p.labels[h]
		}
	}
	return best
}

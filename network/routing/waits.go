package routing

import "github.com/golaunch/golaunch/network/topology"

// addDestinations notes the waits as addPairs does, but of the routes to the hosts
// first, first+step, ... from all. The routes to one host are a tree, of which each
// switch is looked at once; hosts with one cable to the same switch are one source.
func (w *waits) addDestinations(r ByDestination, first, step int) {
	g := w.g
	below := make([]int32, g.Switches()) // hosts that have all routes begin there
	var others []topology.Node
	for host := range g.AllHosts() {
		if leaf := g.OnlyLeaf(host); leaf != topology.NoNode {
			below[g.SwitchIndex(leaf)]++
		} else if len(g.Ports(host)) > 0 {
			others = append(others, host)
		}
	}
	f := follower{waits: w, r: r, next: make([]Step, g.Switches()), state: make([]uint8, g.Switches())}
	for dst := topology.Node(first); int(dst) < g.Hosts(); dst += topology.Node(step) {
		f.dst = dst
		clear(f.state)
		own := g.SwitchIndex(g.OnlyLeaf(dst)) // negative if there is none
		for s, hosts := range below {
			if hosts > 1 || hosts == 1 && s != own {
				f.follow(s)
			}
		}
		for _, host := range others {
			if step, ok := r.Next(host, dst); ok && host != dst {
				if peer := g.To(step.Link).Node; !g.IsHost(peer) {
					f.follow(g.SwitchIndex(peer))
				}
			}
		}
	}
}

// A follower knows the routes to one host, as far as they were looked at.
type follower struct {
	*waits
	r     ByDestination
	dst   topology.Node
	next  []Step  // of each switch
	state []uint8 // of each switch: 0, or one of those below
	path  []int
}

const (
	followed = 1 + iota // on the path that is being followed
	arrives             // its route leads to the host
	lost                // its route leads elsewhere, or in a circle
)

// follow goes from a switch on until the way is known, and notes the waits of the
// switches that are new if it arrives.
func (f *follower) follow(s int) {
	f.path = f.path[:0]
	for f.state[s] == 0 {
		f.state[s] = followed
		f.path = append(f.path, s)
		next, ok := f.r.Next(f.g.Switch(s), f.dst)
		if !ok {
			break
		}
		f.next[s] = next
		peer := f.g.To(next.Link).Node
		if peer == f.dst {
			f.state[s] = arrives
		}
		if f.g.IsHost(peer) {
			break
		}
		s = f.g.SwitchIndex(peer)
	}
	end := f.state[s]
	if end != arrives {
		end = lost
	}
	for _, s := range f.path {
		f.state[s] = end
		if end == lost {
			continue
		}
		if peer := f.g.To(f.next[s].Link).Node; peer != f.dst {
			if after := f.next[f.g.SwitchIndex(peer)]; f.g.To(after.Link).Node != f.dst {
				f.add(f.next[s], after)
			}
		}
	}
}

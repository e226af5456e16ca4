package netsim

import (
	"fmt"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Network is ranks on the hosts of a network, and the links that their messages
// take. It is immutable.
type Network struct {
	router routing.Router
	order  []topology.Node
}

// New puts rank i on host order[i]; several ranks may be on one host. The slice
// belongs to the Network from then on. The error names a rank whose host is
// none.
func New(r routing.Router, order []topology.Node) (*Network, error) {
	g := r.Graph()
	for rank, host := range order {
		if host < 0 || int(host) >= g.Nodes() || !g.IsHost(host) {
			return nil, fmt.Errorf("rank %d is on node %d, which is no host of the network", rank, host)
		}
	}
	return &Network{r, order}, nil
}

// Ranks returns the number of ranks.
func (n *Network) Ranks() int { return len(n.order) }

// Host returns the host of a rank.
func (n *Network) Host(rank int32) topology.Node { return n.order[rank] }

// Graph returns the network without its ranks.
func (n *Network) Graph() *topology.Graph { return n.router.Graph() }

// Router returns the source of the routes.
func (n *Network) Router() routing.Router { return n.router }

// Route appends the steps from one rank to another, none where they share a
// host. The error is that of a pair without a route.
func (n *Network) Route(steps []routing.Step, from, to int32) ([]routing.Step, error) {
	return n.router.Append(steps, n.order[from], n.order[to])
}

// check fails for messages that are not between its ranks, or have no size.
func (n *Network) check(m Message) error {
	for _, rank := range []int32{m.From, m.To} {
		if rank < 0 || int(rank) >= n.Ranks() {
			return fmt.Errorf("a message from rank %d to rank %d, of %d ranks", m.From, m.To, n.Ranks())
		}
	}
	if m.Size < 0 {
		return fmt.Errorf("a message from rank %d to rank %d of %d bytes", m.From, m.To, m.Size)
	}
	return nil
}

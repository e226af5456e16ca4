package sched

import (
	"fmt"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Links returns the link to its leaf switch by which each host's messages from elsewhere
// arrive, as Select has it: that of the route from the first host of the network below
// another leaf switch. Where messages come several ways, as in a torus, the others are
// not in it. A host to which no such link leads shares none. The error names hosts
// without a route.
func Links(r routing.Router, hosts []topology.Node) ([]int32, error) {
	g := r.Graph()
	link := make([]int32, len(hosts))
	for i, h := range hosts {
		link[i] = int32(-1 - i)
		for far := range topology.Node(g.Hosts()) {
			if leaf := g.Leaf(far); leaf == topology.NoNode || leaf == g.Leaf(h) {
				continue
			}
			route, err := r.Append(nil, far, h)
			if err != nil {
				return nil, fmt.Errorf("hosts %s and %s: %w", g.Name(far), g.Name(h), err)
			}
			if routing.Hops(route) > 1 {
				link[i] = int32(route[len(route)-2].Link)
			}
			break
		}
	}
	return link, nil
}

package netsim

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// The constants of [Zahavi]: the rates of links and hosts, in bytes per second.
const (
	linkRate = 4000e6
	hostRate = 3250e6
	flowSize = 256 << 10 // of a message, in bytes
)

// throughput writes the ranks' part of the links' rate.
func throughput(page *strings.Builder) error {
	r, err := tree(tree324)
	if err != nil {
		return err
	}
	fmt.Fprintf(page, `
### Rates: messages that flow

Package netsim lets messages of 256 KiB flow with max–min fair rates on links of 4000 MB/s, as
[Zahavi] has them. Shift on 324 hosts, as part of the links' rate:

| order | ranks wait for all (barriers) | each goes on when it can | 1 / mean degree |
|---|---|---|---|
`)
	for _, seed := range []uint64{0, 1, 2, 3} {
		order, name := hosts(r, 324), "tree"
		if seed > 0 {
			topology.Shuffle(order, seed)
			name = fmt.Sprintf("random, seed %d", seed)
		}
		c, err := routing.HotSpots(r, order, routing.Shift(324), topology.Serial)
		if err != nil {
			return err
		}
		var part [2]float64
		for i, barrier := range []bool{true, false} {
			if part[i], err = share(r, order, routing.Shift(324), netsim.Costs{Rate: linkRate}, barrier); err != nil {
				return err
			}
		}
		fmt.Fprintf(page, "| %s | %.3f | %.3f | %.3f |\n", name, part[0], part[1], 1/c.Mean())
	}
	page.WriteString(`
The published figure 2 falls with the size of messages, to 60 % and less. Such a model has
no buffers in switches, so that the size makes no difference here, and none can be shown.
`)
	return adversary(page)
}

// share returns the part of a link's rate that each rank gets in a sequence in which
// all send in all stages.
func share(r routing.Router, order []topology.Node, q routing.Sequence, c netsim.Costs, barrier bool) (float64, error) {
	n, err := netsim.New(r, order)
	if err != nil {
		return 0, err
	}
	t, err := netsim.Simulate(n, netsim.Permutations(q, flowSize), c, netsim.Progress{Barrier: barrier})
	if err != nil {
		return 0, err
	}
	return float64(q.Stages) * flowSize / c.Rate / t.Seconds, nil
}

// adversary writes the ring whose hosts send by one port of each leaf switch.
func adversary(page *strings.Builder) error {
	r, err := tree(tree1944)
	if err != nil {
		return err
	}
	ordered, worst := hosts(r, 1944), adversarial(18, 6)
	c, err := routing.HotSpots(r, worst, routing.Ring(1944), topology.Serial)
	if err != nil {
		return err
	}
	var rates [2]float64
	for i, order := range [][]topology.Node{ordered, worst} {
		part, err := share(r, order, routing.Ring(1944), netsim.Costs{Rate: linkRate, Inject: hostRate}, false)
		if err != nil {
			return err
		}
		rates[i] = part * linkRate / 1e6
	}
	fmt.Fprintf(page, `
A ring of 1944 hosts, in an order in which the 18 hosts of each leaf switch all send by one
of its ports upward: degree %d. Hosts send at most 3250 MB/s.

| order | MB/s of each rank | of 3250 | printed |
|---|---|---|---|
| tree | %.1f | %.1f %% | |
| adversarial | %.1f | %.1f %% | 231.5 MB/s, 7.1 %% |
`, c.Max(), rates[0], rates[0]/hostRate*1e8, rates[1], rates[1]/hostRate*1e8)
	return nil
}

// adversarial orders the hosts of a tree k,k,pods/1,k,…, with k ports upward of each
// leaf switch, so that a ring has all hosts of a leaf switch send by one of its
// ports, and none stay below it. Under D-Mod-K the port is the receiver's place
// below its own leaf switch.
func adversarial(k, pods int) []topology.Node {
	n := k * k * pods
	to := make([]int, n)
	for host := range to {
		leaf, place := host/k, host%k
		pod, port := leaf/k, leaf%k
		to[host] = ((pod+1)%pods*k+place)*k + port
	}
	// To has many rings. Two hosts of a leaf switch that are in different ones
	// exchange their receivers, which makes one of both.
	for host := range to {
		ring := map[int]bool{host: true}
		for h := to[host]; h != host; h = to[h] {
			ring[h] = true
		}
		for other := host / k * k; other < host/k*k+k; other++ {
			if !ring[other] {
				to[host], to[other] = to[other], to[host]
				for h := to[host]; !ring[h]; h = to[h] {
					ring[h] = true
				}
			}
		}
	}
	order := make([]topology.Node, 0, n)
	for h := 0; len(order) < n; h = to[h] {
		order = append(order, topology.Node(h))
	}
	return order
}

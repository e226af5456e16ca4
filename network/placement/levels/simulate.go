package levels

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Sharing has the carriers that concurrent messages share: the links of their routes,
// of which the first and the last are the hosts' network adapters, and within a host
// the rate at which the cores of a socket copy.
type Sharing struct {
	Router routing.Router // on the network that the machine's hosts are of
	// Copy is a socket's rate of copies, in bytes/s; 0 is no limit. A message within
	// an entity of the last level is copied there twice, into memory that its ranks
	// share and out of it; one between two entities of a host once in each.
	Copy float64
}

// Simulated is the outcome of Simulate.
type Simulated struct {
	Time float64 // seconds until the last message has arrived
	// Mean is the mean time of the messages of each level, in seconds; 0 without any.
	Mean []float64
	// Times of the busiest adapter, link between switches, and socket, in seconds.
	Adapters, Inner, Copies float64
}

// Simulate returns the time that it takes if each rank sends its messages to all peers
// at once [Sahoo, algorithm 2]. A message has arrived when the busiest carrier on its
// way has carried all its load, and after the latency of its level; so large messages
// are bound by shared carriers, and not by the bandwidths of a level that nobody else
// uses. Weights of g are bytes. The error names a link whose rate is not known, or a
// pair of hosts without a route.
func (s Sharing) Simulate(g *commgraph.Graph, c *Costs, at []int32) (Simulated, error) {
	if err := c.Machine.fits(g); err != nil {
		return Simulated{}, err
	}
	if c.Machine.host == nil {
		return Simulated{}, errors.New("the machine's network is not known")
	}
	if !(s.Copy >= 0) {
		return Simulated{}, fmt.Errorf("copies at %v bytes/s: expected 0, for no limit, or more", s.Copy)
	}
	t := &traffic{Sharing: s, Machine: c.Machine, at: at, index: map[[2]topology.Node]int{},
		copies: make([]float64, c.Machine.Entities(c.Machine.Levels()-1))}
	eachMessage(g, t.add)
	if err := t.route(); err != nil {
		return Simulated{}, err
	}
	out, messages := t.out, make([]float64, len(c.fixed))
	out.Mean = make([]float64, len(c.fixed))
	eachMessage(g, func(from, to int32, _ float64) {
		level := c.Machine.Between(at[from], at[to])
		seconds := c.fixed[level] + t.wait(from, to)
		out.Time = max(out.Time, seconds)
		out.Mean[level] += seconds
		messages[level]++
	})
	for l, n := range messages {
		out.Mean[l] /= max(1, n)
	}
	return out, nil
}

// eachMessage yields the bytes of each rank for each peer: half of those of both.
func eachMessage(g *commgraph.Graph, yield func(from, to int32, size float64)) {
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		for i, p := range peers {
			yield(r, p, float64(weights[i])/2)
		}
	}
}

// traffic is the load of each carrier.
type traffic struct {
	Sharing
	*Machine
	at     []int32
	pairs  []pair // of hosts that send, in the order of their first message
	index  map[[2]topology.Node]int
	copies []float64 // bytes, of each entity of the last level
	out    Simulated
}

// pair is one host that sends to another.
type pair struct {
	hosts [2]topology.Node
	size  float64 // bytes of all its messages
	wait  float64 // seconds that the busiest link on the way takes
}

// ends returns the hosts of two ranks, and the entities of the last level.
func (t *traffic) ends(from, to int32) (hosts [2]topology.Node, sockets [2]int32) {
	a, b, last := t.at[from], t.at[to], t.of[t.Levels()-1]
	return [2]topology.Node{t.host[a], t.host[b]}, [2]int32{last[a], last[b]}
}

// add enters a message.
func (t *traffic) add(from, to int32, size float64) {
	hosts, sockets := t.ends(from, to)
	if hosts[0] == hosts[1] {
		t.copies[sockets[0]] += size
		t.copies[sockets[1]] += size
		return
	}
	i, known := t.index[hosts]
	if !known {
		i = len(t.pairs)
		t.index[hosts] = i
		t.pairs = append(t.pairs, pair{hosts: hosts})
	}
	t.pairs[i].size += size
}

// route adds up the load of each link and tells each pair the time of its wait.
func (t *traffic) route() error {
	g := t.Router.Graph()
	on := make([]float64, g.Links())
	var steps []routing.Step
	var err error
	for _, p := range t.pairs {
		if steps, err = t.Router.Append(steps[:0], p.hosts[0], p.hosts[1]); err != nil {
			return err
		}
		for _, s := range steps {
			if g.Rate(s.Link) <= 0 {
				return fmt.Errorf("link from %s to %s: its rate is not known", g.Name(g.From(s.Link).Node), g.Name(g.To(s.Link).Node))
			}
			on[s.Link] += p.size
		}
	}
	for i := range t.pairs {
		p := &t.pairs[i]
		if steps, err = t.Router.Append(steps[:0], p.hosts[0], p.hosts[1]); err != nil {
			return err
		}
		for k, s := range steps {
			seconds := 8 * on[s.Link] / float64(g.Rate(s.Link))
			p.wait = max(p.wait, seconds)
			if k == 0 || k == len(steps)-1 {
				t.out.Adapters = max(t.out.Adapters, seconds)
			} else {
				t.out.Inner = max(t.out.Inner, seconds)
			}
		}
	}
	if t.Copy > 0 {
		for _, size := range t.copies {
			t.out.Copies = max(t.out.Copies, size/t.Copy)
		}
	}
	return nil
}

// wait returns the time that the busiest carrier of a message takes for its load.
func (t *traffic) wait(from, to int32) float64 {
	hosts, sockets := t.ends(from, to)
	switch {
	case hosts[0] != hosts[1]:
		return t.pairs[t.index[hosts]].wait
	case t.Copy > 0:
		return max(t.copies[sockets[0]], t.copies[sockets[1]]) / t.Copy
	}
	return 0
}

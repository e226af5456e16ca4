package netsim

import (
	"fmt"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Load adds up the load of messages on each directed link. It is used again from stage
// to stage; one goroutine uses it at a time.
type Load struct {
	// Inner leaves the links between hosts and switches out, as models do that
	// give a host as many ports as its switch has.
	Inner bool

	network *Network
	on      []int64
	used    []topology.Link
	route   []routing.Step
}

// NewLoad begins with no message.
func NewLoad(n *Network) *Load {
	return &Load{network: n, on: make([]int64, n.Graph().Links())}
}

// Add adds messages. The error is that of a message that is not between ranks of
// the network, or of a pair without a route.
func (l *Load) Add(messages []Message) error {
	g := l.network.Graph()
	for _, m := range messages {
		err := l.network.check(m)
		if err != nil {
			return err
		}
		if m.Size == 0 {
			continue
		}
		if l.route, err = l.network.Route(l.route[:0], m.From, m.To); err != nil {
			return fmt.Errorf("from rank %d to rank %d: %w", m.From, m.To, err)
		}
		for _, step := range l.route {
			if l.Inner && (g.IsHost(g.From(step.Link).Node) || g.IsHost(g.To(step.Link).Node)) {
				continue
			}
			if l.on[step.Link] == 0 {
				l.used = append(l.used, step.Link)
			}
			l.on[step.Link] += m.Size
		}
	}
	return nil
}

// On returns the load of a link.
func (l *Load) On(link topology.Link) int64 { return l.on[link] }

// Used returns the links that messages have been added to, in no order. The slice is
// valid until the next Add or Reset.
func (l *Load) Used() []topology.Link { return l.used }

// Max returns the load of the busiest link.
func (l *Load) Max() int64 {
	var most int64
	for _, link := range l.used {
		most = max(most, l.on[link])
	}
	return most
}

// Reset takes all messages off.
func (l *Load) Reset() {
	for _, link := range l.used {
		l.on[link] = 0
	}
	l.used = l.used[:0]
}

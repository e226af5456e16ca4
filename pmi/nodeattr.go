package pmi

import (
	"strconv"
)

// maxNodeAttrs bounds the bytes of a node's attributes.
const maxNodeAttrs = 1 << 20

// nodeAttrs are the attributes that the ranks of one node share (PMI-2,
// info-putnodeattr and info-getnodeattr).
type nodeAttrs struct {
	values  map[string]string
	bytes   int
	waiters map[string][]waiter // by key that nobody has put yet
}

// waiter is a client that waits for an attribute.
type waiter struct {
	client *client
	due    due
}

// putNodeAttr stores an attribute and wakes who waits for it.
func (s *Server) putNodeAttr(c *client, m message, d due, out *Effects) {
	key, value, ok := s.pair(c, m, d, out)
	if !ok {
		return
	}
	n := &s.node
	old, found := n.values[string(key)]
	grow := len(value) - len(old)
	if !found {
		grow += len(key)
	}
	if n.bytes+grow > maxNodeAttrs {
		out.refuse(c.rank, d, -1, "more_than_"+strconv.Itoa(maxNodeAttrs)+"_bytes_of_node_attributes")
		return
	}
	if n.values == nil {
		n.values, n.waiters = map[string]string{}, map[string][]waiter{}
	}
	n.values[string(key)] = string(value)
	n.bytes += grow
	out.respond(c.rank, d, 0).end()
	woken := n.waiters[string(key)]
	delete(n.waiters, string(key))
	for _, w := range woken {
		if w.client.deaf {
			continue
		}
		if w.due.aside {
			w.client.ahead--
		} else {
			w.client.wait = 0
		}
		out.answer(w.client.rank, w.due, n.values[string(key)], true)
		s.goOn(w.client, out)
	}
}

// getNodeAttr answers for an attribute of the node, at once or when it is put.
func (s *Server) getNodeAttr(c *client, m message, d due, out *Effects) {
	key, _ := m.get("key")
	value, found := s.node.values[string(key)]
	wait, _ := m.get("wait")
	switch {
	case len(key) == 0:
		out.refuse(c.rank, d, -1, "no_key")
		return
	case found || string(wait) != "TRUE" || len(key) >= MaxKey:
		out.answer(c.rank, d, value, found)
		return
	case d.aside:
		if !s.countAhead(c, m, out) {
			return
		}
	default:
		c.wait = nodeAttr
	}
	if s.node.waiters == nil {
		s.node.values, s.node.waiters = map[string]string{}, map[string][]waiter{}
	}
	s.node.waiters[string(key)] = append(s.node.waiters[string(key)], waiter{c, d})
}

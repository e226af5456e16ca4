package pmi

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/golaunch/golaunch/internal/job"
)

// ring is a client's way through the ring exchange, an extension of PMI-2 that Slurm's
// and MVAPICH2's clients have (PMIX_Ring): every rank gives two values and learns its
// left neighbor's right one and its right neighbor's left one. The world's ranks form
// the ring in their order. It is made of the bulletin board's operations: two puts, a
// fence, two gets.
type ring struct {
	due   due
	right string // to be put second
	left  string // learned first
	step  int    // puts or gets done
}

// ringBegin takes a client into the ring.
func (s *Server) ringBegin(c *client, m message, d due, out *Effects) {
	left, leftOK := m.get("ring-left")
	right, rightOK := m.get("ring-right")
	count, ok := m.number("ring-count")
	switch {
	case !ok || count != 1:
		out.refuse(c.rank, d, -1, "ring-count_must_be_1")
	case !leftOK || !rightOK:
		out.refuse(c.rank, d, -1, "no_ring-left_or_ring-right")
	case len(left) >= MaxValue || len(right) >= MaxValue:
		out.refuse(c.rank, d, -1, "value_longer_than_"+strconv.Itoa(MaxValue-1)+"_bytes")
	default:
		d.aside = false // the exchange holds the connection: its steps need it
		c.ring = &ring{due: d, right: string(right)}
		out.ask(c, Put, d, s.ringKey(c, 0, "left"), left)
	}
}

// ringKey returns the key of a value that the rank at distance from c puts. Keys
// alternate: a rank of this node may be in the next ring while another still reads.
func (s *Server) ringKey(c *client, distance int, side string) []byte {
	r := job.Rank((int(c.rank) + distance + s.world.Size) % s.world.Size)
	return fmt.Appendf(nil, "%sring-%s-%d-%d", reservedPrefix, side, c.rings%2, r)
}

// ringPut goes on after a put.
func (s *Server) ringPut(c *client, err error, out *Effects) {
	g := c.ring
	switch g.step++; {
	case err != nil:
		s.ringEnd(c, err, out)
	case g.step == 1:
		out.ask(c, Put, g.due, s.ringKey(c, 0, "right"), []byte(g.right))
	default:
		g.step = 0
		s.enter(c, g.due, nil, out)
	}
}

// ringFenced goes on after the fence.
func (s *Server) ringFenced(c *client, out *Effects) {
	out.ask(c, Get, c.ring.due, s.ringKey(c, -1, "right"), nil)
}

// ringGot goes on after a get.
func (s *Server) ringGot(c *client, value string, found bool, out *Effects) {
	g := c.ring
	switch g.step++; {
	case !found:
		s.ringEnd(c, errors.New("a_neighbour_is_not_in_the_ring"), out)
	case g.step == 1:
		g.left = value
		out.ask(c, Get, g.due, s.ringKey(c, 1, "left"), nil)
	default:
		g.right = value
		s.ringEnd(c, nil, out)
	}
}

// ringEnd answers. Clients read their place in the ring from ring-count.
func (s *Server) ringEnd(c *client, err error, out *Effects) {
	g := c.ring
	c.ring = nil
	c.rings++
	if err != nil {
		out.refuse(c.rank, g.due, -1, err.Error())
		return
	}
	f := out.respond(c.rank, g.due, 0)
	f.number("ring-id", int(c.rank))
	f.number("ring-count", int(c.rank))
	f.text("ring-left", g.left)
	f.text("ring-right", g.right)
	f.end()
}

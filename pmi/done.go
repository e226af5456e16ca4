package pmi

import (
	"errors"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
)

// endWait ends the wait of rank r for op, or returns nil where there is none.
func (s *Server) endWait(r job.Rank, op Op) *client {
	c := s.clients[r]
	if c == nil || c.wait != op {
		return nil
	}
	c.wait = 0
	return c
}

// goOn uses requests that the client sent ahead of the reply it has now.
func (s *Server) goOn(c *client, out *Effects) {
	if len(c.held) > 0 && c.wait == 0 && !c.deaf && !c.reading {
		s.resume(c, out)
		s.limit(c, out)
	}
}

// PutDone answers the Put request of rank r; err is the bulletin board's, or nil. Like
// its siblings it does nothing if the rank does not wait for it any more.
func (s *Server) PutDone(r job.Rank, err error, out *Effects) {
	c := s.endWait(r, Put)
	switch {
	case c == nil:
		return
	case c.ring != nil:
		s.ringPut(c, err, out)
	case c.due.cmd != "" && err != nil:
		out.refuse(r, c.due, -1, err.Error())
	case c.due.cmd != "":
		out.respond(r, c.due, 0).end()
	case err != nil:
		out.say(r, "cmd=put_result rc=-1 msg="+word(err.Error())+"\n")
	default:
		out.say(r, "cmd=put_result rc=0\n")
	}
	s.goOn(c, out)
}

// GetDone answers the Get request of rank r with value byte for byte.
func (s *Server) GetDone(r job.Rank, value string, found bool, out *Effects) {
	c := s.endWait(r, Get)
	if c != nil {
		if !found {
			value, found = c.preput, c.hasPreput
		}
		c.preput, c.hasPreput = "", false
	}
	switch {
	case c == nil:
		return
	case c.ring != nil:
		s.ringGot(c, value, found, out)
	case c.due.cmd != "":
		out.answer(r, c.due, value, found)
	case !found:
		out.say(r, keyNotFound)
	default:
		sayValue(r, value, out)
	}
	s.goOn(c, out)
}

// FenceDone says that a fence is complete: every rank of this node that is in
// it goes on.
func (s *Server) FenceDone(out *Effects) {
	for _, c := range s.order {
		if len(c.fences) == 0 {
			continue
		}
		d := c.fences[0]
		c.fences = c.fences[:copy(c.fences, c.fences[1:])]
		if c.phase == InInit {
			c.phase = Running
		}
		if d.aside {
			c.ahead--
		} else {
			c.wait = 0
		}
		switch {
		case c.ring != nil && !d.aside:
			s.ringFenced(c, out)
		case d.cmd != "":
			out.respond(c.rank, d, 0).end()
		default:
			sayBarrier(c.rank, d, out)
		}
		if len(c.fences) > 0 {
			out.Requests = append(out.Requests, Request{Rank: c.rank, Op: Fence})
		}
		// A rank that enters the next fence here is not met again: each
		// client is visited once.
		s.goOn(c, out)
	}
}

// Fencing reports whether a rank of this node waits in a fence.
func (s *Server) Fencing() bool {
	return slices.ContainsFunc(s.order, func(c *client) bool { return len(c.fences) > 0 })
}

// FencesFail says that the fences which ranks of this node are in, or wait to enter,
// will not be complete, and why: they go on with an error.
func (s *Server) FencesFail(why string, out *Effects) {
	for _, c := range s.order {
		failed := c.fences
		c.fences = nil
		for _, d := range failed {
			if d.aside {
				c.ahead--
			} else {
				c.wait = 0
			}
			switch {
			case c.ring != nil && !d.aside:
				s.ringEnd(c, errors.New(why), out)
			case d.cmd != "":
				out.refuse(c.rank, d, -1, why)
			default:
				sayBarrierFailed(c.rank, d, why, out)
			}
		}
		if len(failed) > 0 {
			s.goOn(c, out)
		}
	}
}

// NameDone answers the Publish, Unpublish or Lookup request of rank r. port is the
// answer to a Lookup; err explains its absence.
func (s *Server) NameDone(r job.Rank, port string, err error, out *Effects) {
	c := s.clients[r]
	if c == nil || c.wait != Publish && c.wait != Unpublish && c.wait != Lookup {
		return
	}
	op := c.wait
	c.wait = 0
	sayName(r, op, c.due, port, err, out)
	s.goOn(c, out)
}

// sayName answers a request about a name.
func sayName(r job.Rank, op Op, d due, port string, err error, out *Effects) {
	if err == nil && d.cmd == "" {
		err = readable(port)
	}
	switch {
	case d.cmd != "" && err != nil:
		out.refuse(r, d, 1, err.Error())
	case d.cmd != "":
		f := out.respond(r, d, 0)
		if op == Lookup { // MPICH reads port, Slurm's and MVAPICH2's clients read value
			f.text("found", "TRUE")
			f.text("port", port)
			f.text("value", port)
		}
		f.end()
	case err != nil:
		out.say(r, "cmd="+op.String()+"_result info=fail rc=1 msg="+word(err.Error())+"\n")
	case op == Lookup:
		out.say(r, "cmd=lookup_result info=ok rc=0 port="+port+"\n")
	default:
		out.say(r, "cmd="+op.String()+"_result info=ok rc=0\n")
	}
}

// answer answers a PMI-2 request for a value.
func (e *Effects) answer(r job.Rank, d due, value string, found bool) {
	f := e.respond(r, d, 0)
	if found {
		f.text("found", "TRUE")
		f.text("value", value)
	} else {
		f.text("found", "FALSE")
	}
	f.end()
}

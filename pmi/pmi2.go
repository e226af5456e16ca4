package pmi

import (
	"bytes"
	"fmt"
	"strconv"
)

// refused answers that a command is not served, and why.
func refused(why string) messageCommand {
	return func(_ *Server, c *client, _ message, d due, out *Effects) { out.refuse(c.rank, d, -1, why) }
}

// service2 passes a request about a service on to the root.
func service2(op Op) messageCommand {
	return func(s *Server, c *client, m message, d due, out *Effects) {
		var port []byte
		if op == Publish {
			port, _ = m.get("port")
		}
		name, _ := m.get("name")
		s.name(c, op, d, name, port, out)
	}
}

// fullInit completes the init. The connection says which rank it is; a client that
// thinks otherwise has been given a wrong environment.
func (s *Server) fullInit(c *client, m message, d due, out *Effects) {
	if text, found := m.get("pmirank"); found {
		if rank, ok := m.number("pmirank"); !ok || rank != int(c.rank) {
			out.refuse(c.rank, d, -1, fmt.Sprintf("pmirank=%s_on_the_connection_of_rank_%d", clip(text), c.rank))
			out.Notes = append(out.Notes, Note{Rank: c.rank, Text: fmt.Sprintf("calls itself rank %q", clip(text))})
			return
		}
	}
	if !c.ready() {
		c.phase = InInit
	}
	f := out.respond(c.rank, d, 0)
	f.number("pmi-version", 2)
	f.number("pmi-subversion", 0)
	f.number("rank", int(c.rank))
	f.number("size", s.world.Size)
	f.number("appnum", s.world.AppNum(c.rank))
	if s.world.Spawner != "" { // to clients its presence says "spawned"
		f.text("spawner-jobid", s.world.Spawner)
	}
	f.text("debugged", "FALSE")
	f.text("pmiverbose", "FALSE") // one client reads a number: this is 0 to it
	f.end()
}

// finalize2 ends the client's part; a repeated one is answered, too.
func (s *Server) finalize2(c *client, _ message, d due, out *Effects) {
	c.phase = AfterFinalize
	out.respond(c.rank, d, 0).end()
}

// jobID answers with the world's name.
func (s *Server) jobID(c *client, _ message, d due, out *Effects) {
	f := out.respond(c.rank, d, 0)
	f.text("jobid", s.world.KVSName)
	f.end()
}

// abort2 ends the client's part, and that of its world unless the client says
// that it means itself alone.
func (s *Server) abort2(c *client, m message, _ due, out *Effects) {
	text, found := m.get("msg")
	if !found {
		text, _ = m.get("message")
	}
	if whole, _ := m.get("isworld"); string(whole) == "FALSE" {
		out.Notes = append(out.Notes, Note{Rank: c.rank, Text: fmt.Sprintf("aborts itself: %s", clip(text))})
		c.silence()
		return
	}
	a := Abort{Rank: c.rank, Code: 1, Text: clip(text)}
	if code, ok := m.number("exitcode"); ok {
		a.Code = code
	}
	out.Aborts = append(out.Aborts, a)
	c.silence()
}

// pair reads the key and value of a request that stores them, or answers why
// they cannot be stored.
func (s *Server) pair(c *client, m message, d due, out *Effects) (key, value []byte, ok bool) {
	key, _ = m.get("key")
	value, found := m.get("value")
	rc := -1
	var cause string
	switch {
	case len(key) == 0:
		cause = "no_key"
	case !found:
		cause = "no_value"
	case len(key) >= MaxKey:
		cause = "key_longer_than_" + strconv.Itoa(MaxKey-1) + "_bytes"
	case len(value) >= MaxValue:
		cause = "value_longer_than_" + strconv.Itoa(MaxValue-1) + "_bytes"
	case bytes.HasPrefix(key, []byte(reservedPrefix)):
		rc, cause = 1, "keys_that_begin_with_PMI__are_reserved"
	default:
		return key, value, true
	}
	out.refuse(c.rank, d, rc, cause)
	return nil, nil, false
}

// put2 passes a pair on to the bulletin board.
func (s *Server) put2(c *client, m message, d due, out *Effects) {
	if key, value, ok := s.pair(c, m, d, out); ok {
		out.ask(c, Put, d, key, value)
	}
}

// fence2 lets the client enter the world's fence.
func (s *Server) fence2(c *client, m message, d due, out *Effects) { s.enter(c, d, m, out) }

// get2 answers reserved keys here and asks the bulletin board for the others.
// The job asked for is ignored: a rank has one space.
func (s *Server) get2(c *client, m message, d due, out *Effects) {
	key, _ := m.get("key")
	switch {
	case len(key) == 0:
		out.refuse(c.rank, d, -1, "no_key")
	case len(key) >= MaxKey:
		out.answer(c.rank, d, "", false) // no such key can have been put
	case bytes.HasPrefix(key, []byte(reservedPrefix)):
		value, found := s.attrs[string(key)]
		out.answer(c.rank, d, value, found)
	default:
		s.ask(c, d, key, out)
	}
}

// getJobAttr answers for an attribute of the world.
func (s *Server) getJobAttr(c *client, m message, d due, out *Effects) {
	key, _ := m.get("key")
	value, found := s.attrs[string(key)]
	switch {
	case len(key) == 0:
		out.refuse(c.rank, d, -1, "no_key")
		return
	case string(key) == "universeSize" && s.world.UniverseSize > 0:
		value, found = strconv.Itoa(s.world.UniverseSize), true
	}
	out.answer(c.rank, d, value, found)
}

package pmi

import (
	"bytes"
	"fmt"
	"strconv"
)

// commands2 are the commands of PMI-2.
var commands2 = [...]string{"fullinit", "finalize", "abort", "job-getid", "job-connect", "job-disconnect",
	"kvs-get", "kvs-put", "kvs-fence", "info-getjobattr", "info-putnodeattr", "info-getnodeattr",
	"name-publish", "name-unpublish", "name-lookup", "spawn", "ring"}

// command2 is the command of that name, which need not be copied out of the
// message; "" if there is none.
func command2(name []byte) string {
	for _, known := range commands2 {
		if string(name) == known {
			return known
		}
	}
	return ""
}

// message deals with one complete PMI-2 message (protocols 2.2).
func (s *Server) message(c *client, m message, out *Effects) {
	if err := m.check(); err != nil {
		s.violate(c, m, err, out)
		return
	}
	cmd, _ := m.get("cmd")
	name := command2(cmd)
	if name == "" {
		s.violate(c, m, fmt.Errorf("unknown command %q", clip(cmd)), out)
		return
	}
	d := due{cmd: name}
	if thrid, found := m.get("thrid"); found {
		if len(thrid) > maxThread {
			s.violate(c, m, fmt.Errorf("thrid of more than %d bytes", maxThread), out)
			return
		}
		// The client's threads each wait for a reply of their own, so none
		// may hold up the others.
		d.thrid, d.aside = string(thrid), len(thrid) > 0
	}
	switch {
	case d.cmd == "fullinit":
		s.fullInit(c, m, d, out)
	case d.cmd == "abort":
		s.abort2(c, m, out)
	case d.cmd == "finalize" && c.phase != BeforeInit:
		c.phase = AfterFinalize
		out.respond(c.rank, d, 0).end()
	case !c.ready():
		s.untimely(c, m, cmd, out)
	default:
		s.request2(c, m, d, out)
	}
}

// request2 deals with a message between init and finalize.
func (s *Server) request2(c *client, m message, d due, out *Effects) {
	switch d.cmd {
	case "kvs-get":
		s.get2(c, m, d, out)
	case "kvs-put":
		if key, value, ok := s.pair(c, m, d, out); ok {
			out.ask(c, Put, d, key, value)
		}
	case "kvs-fence":
		s.enter(c, d, m, out)
	case "info-getjobattr":
		s.getJobAttr(c, m, d, out)
	case "info-putnodeattr":
		s.putNodeAttr(c, m, d, out)
	case "info-getnodeattr":
		s.getNodeAttr(c, m, d, out)
	case "job-getid":
		f := out.respond(c.rank, d, 0)
		f.text("jobid", s.world.KVSName)
		f.end()
	case "job-connect", "job-disconnect":
		out.refuse(c.rank, d, -1, "not_implemented")
	case "name-publish":
		port, _ := m.get("port")
		s.name2(c, Publish, m, d, port, out)
	case "name-unpublish":
		s.name2(c, Unpublish, m, d, nil, out)
	case "name-lookup":
		s.name2(c, Lookup, m, d, nil, out)
	case "spawn":
		s.spawn2(c, m, d, out)
	case "ring":
		s.ringBegin(c, m, d, out)
	}
}

// fullInit completes what the init line began. The connection says which rank
// it is; a client that thinks otherwise has been given a wrong environment.
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

// abort2 ends the client's part, and that of its world unless the client says
// that it means itself alone.
func (s *Server) abort2(c *client, m message, out *Effects) {
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

// name2 passes a request about a service on to the root.
func (s *Server) name2(c *client, op Op, m message, d due, port []byte, out *Effects) {
	service, _ := m.get("name")
	s.name(c, op, d, service, port, out)
}

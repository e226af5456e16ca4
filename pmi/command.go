package pmi

import (
	"bytes"
	"fmt"
	"strconv"
)

// command is one that clients may give: everything that holds for all of it. F carries
// it out: it answers, or asks for the facts that it needs (Effects.ask).
type command[F any] struct {
	name string
	when when
	do   F
}

// when says in which phases of a client a command is legal.
type when uint8

const (
	between when = iota // init and finalize
	begun               // after init, also after finalize
	always
)

// lineCommand carries a command of PMI-1 out, messageCommand one of PMI-2, whose reply
// has form d.
type (
	lineCommand    func(s *Server, c *client, line []byte, out *Effects)
	messageCommand func(s *Server, c *client, m message, d due, out *Effects)
)

// commands1 are the commands of PMI-1 that take one line. mcmd=spawn, which takes many,
// is in spawnwire.go.
var commands1 = []command[lineCommand]{
	{"get", between, (*Server).get},
	{"put", between, (*Server).put},
	{"barrier_in", between, (*Server).barrier},
	{"init", always, (*Server).init},
	{"finalize", begun, (*Server).finalize},
	{"abort", always, (*Server).abort},
	{"get_maxes", between, says(func(*Server, *client) string {
		return fmt.Sprintf("cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", MaxKVSName, MaxKey, MaxValue)
	})},
	{"get_my_kvsname", between, says(func(s *Server, _ *client) string {
		return "cmd=my_kvsname kvsname=" + s.world.KVSName
	})},
	{"get_universe_size", between, says(func(s *Server, _ *client) string {
		return "cmd=universe_size size=" + strconv.Itoa(s.world.UniverseSize)
	})},
	{"get_appnum", between, says(func(s *Server, c *client) string {
		return "cmd=appnum appnum=" + strconv.Itoa(s.world.AppNum(c.rank))
	})},
	{"publish_name", between, service(Publish)},
	{"unpublish_name", between, service(Unpublish)},
	{"lookup_name", between, service(Lookup)},
	{"golaunch_map", between, (*Server).mapping},
}

// commands2 are the commands of PMI-2. The reply to one is NAME-response.
var commands2 = []command[messageCommand]{
	{"kvs-get", between, (*Server).get2},
	{"kvs-put", between, (*Server).put2},
	{"kvs-fence", between, (*Server).fence2},
	{"fullinit", always, (*Server).fullInit},
	{"finalize", begun, (*Server).finalize2},
	{"abort", always, (*Server).abort2},
	{"job-getid", between, (*Server).jobID},
	{"job-connect", between, refused("not_implemented")},
	{"job-disconnect", between, refused("not_implemented")},
	{"info-getjobattr", between, (*Server).getJobAttr},
	{"info-putnodeattr", between, (*Server).putNodeAttr},
	{"info-getnodeattr", between, (*Server).getNodeAttr},
	{"name-publish", between, service2(Publish)},
	{"name-unpublish", between, service2(Unpublish)},
	{"name-lookup", between, service2(Lookup)},
	{"spawn", between, (*Server).spawn2},
	{"ring", between, (*Server).ringBegin},
}

// find returns the command of a name, or nil.
func find[F any](commands []command[F], name []byte) *command[F] {
	for i := range commands {
		if commands[i].name == string(name) {
			return &commands[i]
		}
	}
	return nil
}

// line deals with one complete PMI-1 line of a client, which classify has let
// pass.
func (s *Server) line(c *client, line []byte, out *Effects) {
	if c.spawn != nil {
		s.spawnLine(c, line, out)
		return
	}
	_, cmd, _ := bytes.Cut(line, []byte{'='})
	if end := bytes.IndexByte(cmd, ' '); end >= 0 {
		cmd = cmd[:end]
	}
	if line[0] == 'm' {
		s.spawnBegin(c, line, cmd, out)
		return
	}
	switch known := find(s.commands1, cmd); {
	case known != nil && c.may(known.when):
		known.do(s, c, line, out)
	case !c.ready():
		s.refuseUntimely(c, line, cmd, out)
	default:
		s.violate(c, line, fmt.Errorf("unknown command %q", clip(cmd)), out)
	}
}

// message deals with one complete PMI-2 message (protocols 2.2).
func (s *Server) message(c *client, m message, out *Effects) {
	if err := m.check(); err != nil {
		s.violate(c, m, err, out)
		return
	}
	cmd, _ := m.get("cmd")
	known := find(s.commands2, cmd)
	if known == nil {
		s.violate(c, m, fmt.Errorf("unknown command %q", clip(cmd)), out)
		return
	}
	d := due{cmd: known.name}
	if thrid, found := m.get("thrid"); found {
		if len(thrid) > maxThread {
			s.violate(c, m, fmt.Errorf("thrid of more than %d bytes", maxThread), out)
			return
		}
		// The client's threads each wait for a reply of their own, so none
		// may hold up the others.
		d.thrid, d.aside = string(thrid), len(thrid) > 0
	}
	if !c.may(known.when) {
		s.refuseUntimely(c, m, cmd, out)
		return
	}
	known.do(s, c, m, d, out)
}

// may reports whether a command is legal now.
func (c *client) may(w when) bool {
	return w == always || c.ready() || w == begun && c.phase != BeforeInit
}

// ready reports whether the client is between init and finalize.
func (c *client) ready() bool { return c.phase == InInit || c.phase == Running }

// refuseUntimely reports a command outside init and finalize.
func (s *Server) refuseUntimely(c *client, line, cmd []byte, out *Effects) {
	s.violate(c, line, fmt.Errorf("command %q %v, where only init is legal", clip(cmd), c.phase), out)
}

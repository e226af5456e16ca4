package pmi

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/golaunch/golaunch/internal/job"
)

// maxCall bounds the bytes that a connection to PMI_PORT may send before it has named
// its rank.
const maxCall = 4 << 10

// RefuseInitack is the reply to a connection whose Caller or Attach failed,
// before it is closed.
const RefuseInitack = "cmd=initack rc=-1\n"

// init2OK answers the first line of a PMI-2 client.
const init2OK = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"

// Caller reads from the beginning of a connection to PMI_PORT whose it is. A
// PMI-1 client says so first, with initack (protocols 1.2), a PMI-2 client with
// its second request, fullinit.
type Caller struct {
	// Rank is the rank of the connection, once Receive says that it is known.
	Rank job.Rank

	held     []byte // bytes for Server.Receive, once known
	answered bool   // to the init of PMI-2
}

// Receive takes bytes, cut anywhere. The answer, if any, is to be sent at once.
func (c *Caller) Receive(data []byte) (answer string, known bool, err error) {
	c.held = append(c.held, data...)
	for len(c.held) > 0 {
		said := c.held
		f, size, err := classify(said)
		end := bytes.IndexByte(said, '\n')
		switch {
		case err != nil:
			return "", false, fmt.Errorf("it began %q: %w", clip(firstLine(said)), err)
		case f == framed && len(said) >= headerSize+size:
			return answer, true, c.fullInit(said[headerSize : headerSize+size])
		case f == oneLine && end >= 0 && begins(said, "cmd=initack ") && !c.answered:
			id, ok := number(said[:end], " pmiid=")
			if !ok || id < 0 {
				return "", false, fmt.Errorf("its initack has no readable pmiid: %q", clip(said[:end]))
			}
			c.Rank, c.held = job.Rank(id), said[end+1:]
			return "", true, nil
		case f == oneLine && end >= 0:
			if version, _ := number(said[:end], " pmi_version="); !begins(said, "cmd=init ") || version != 2 || c.answered {
				return "", false, fmt.Errorf("it began %q, not with initack (PMI-1) or with init and fullinit (PMI-2)", clip(said[:end]))
			}
			answer, c.answered, c.held = init2OK, true, said[end+1:]
		case len(said) > maxCall:
			return "", false, fmt.Errorf("it sent more than %d bytes without saying whose it is", maxCall)
		default:
			return answer, false, nil
		}
	}
	return answer, false, nil
}

// fullInit takes the rank out of a PMI-2 client's message, which the Server is to
// read too.
func (c *Caller) fullInit(m message) error {
	if err := m.check(); err != nil {
		return err
	}
	cmd, _ := m.get("cmd")
	rank, ok := m.number("pmirank")
	if !ok {
		rank, ok = m.number("srcid") // as Slurm's library calls it on a port
	}
	if string(cmd) != "fullinit" || !ok || rank < 0 || !c.answered {
		return fmt.Errorf("it began %q, not with init and fullinit, whose pmirank says whose it is", clip(m))
	}
	c.Rank = job.Rank(rank)
	return nil
}

// Attach gives c.Rank its connection, greets a PMI-1 client, and takes the further
// bytes of the connection. It fails for a rank that is not on this node or has a
// connection.
func (s *Server) Attach(c *Caller, out *Effects) error {
	r := s.clients[c.Rank]
	switch {
	case r == nil:
		return fmt.Errorf("pmiid %d is not on this node", c.Rank)
	case r.attached:
		return fmt.Errorf("pmiid %d has one already", c.Rank)
	}
	r.attached = true
	if !c.answered {
		out.say(c.Rank, "cmd=initack rc=0\ncmd=set size="+strconv.Itoa(s.world.Size)+
			"\ncmd=set rank="+strconv.Itoa(int(c.Rank))+"\ncmd=set debug=0\n")
	}
	s.Receive(c.Rank, c.held, out)
	return nil
}

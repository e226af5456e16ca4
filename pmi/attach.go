package pmi

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/golaunch/golaunch/job"
)

// maxInitack bounds the first line of a connection to PMI_PORT, in bytes.
const maxInitack = 1024

// Initack reads the line with which a client that was given PMI_PORT says who
// it is (protocols 1.2). data is all that came over the connection so far. The
// line takes used bytes of it; 0 means that it is not complete yet. What follows
// it belongs to Receive, once Attach has taken the rank.
func Initack(data []byte) (r job.Rank, used int, err error) {
	const want = "cmd=initack"
	end := bytes.IndexByte(data, '\n')
	line := data
	if end >= 0 {
		line = data[:end]
	}
	switch {
	case !begins(line, want) || len(line) > len(want) && line[len(want)] != ' ' || len(line) > maxInitack:
		return 0, 0, fmt.Errorf("a connection to PMI_PORT must begin with cmd=initack, but began %q", clip(line))
	case end < 0:
		return 0, 0, nil
	}
	id, ok := number(line, " pmiid=")
	if !ok || id < 0 {
		return 0, 0, fmt.Errorf("initack without a readable pmiid: %q", clip(line))
	}
	return job.Rank(id), end + 1, nil
}

// RefuseInitack is the reply to a connection whose Initack or Attach failed,
// before it is closed.
const RefuseInitack = "cmd=initack rc=-1\n"

// Attach gives rank r the connection that named it, and greets it. It fails for
// a rank that is not on this node or has a connection.
func (s *Server) Attach(r job.Rank, out *Effects) error {
	c := s.clients[r]
	switch {
	case c == nil:
		return fmt.Errorf("a connection for pmiid %d, which is not on this node", r)
	case c.attached:
		return fmt.Errorf("a second connection for pmiid %d", r)
	}
	c.attached = true
	out.say(r, "cmd=initack rc=0\ncmd=set size="+strconv.Itoa(s.world.Size)+
		"\ncmd=set rank="+strconv.Itoa(int(r))+"\ncmd=set debug=0\n")
	return nil
}

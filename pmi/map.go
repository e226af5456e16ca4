package pmi

import (
	"strconv"

	"github.com/golaunch/golaunch/internal/job"
)

// Mapping is a file that has the state of the world's bulletin board as of a
// fence (docs/pmi.md).
type Mapping struct {
	Path  string // without blanks
	Size  int    // bytes
	Epoch uint64 // fences completed
}

// mapping asks for the file of the bulletin board's state.
func (s *Server) mapping(c *client, _ []byte, out *Effects) { out.ask(c, Map, due{}, nil, nil) }

// MapDone answers the Map request of rank r; err explains the absence of a file.
func (s *Server) MapDone(r job.Rank, m Mapping, err error, out *Effects) {
	c := s.endWait(r, Map)
	if c == nil {
		return
	}
	if err != nil {
		out.say(r, "cmd=golaunch_map_result rc=-1 msg="+word(err.Error())+"\n")
	} else {
		out.say(r, "cmd=golaunch_map_result rc=0 epoch="+strconv.FormatUint(m.Epoch, 10)+
			" size="+strconv.Itoa(m.Size)+" path="+m.Path+"\n")
	}
	s.goOn(c, out)
}

package servepmgr

import (
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
)

// Calls lists the calls in which ranks wait that have checked in.
func (s *Server) Calls() map[job.Rank]serve.Call {
	calls := map[job.Rank]serve.Call{}
	for number, c := range s.byRank {
		call := serve.Call{Text: "in no call of PMGR", Since: c.heard}
		if text, some := s.server.Calls(number); some {
			call.Text, call.Waits = "in "+text+" of PMGR", true
		}
		calls[number] = call
	}
	return calls
}

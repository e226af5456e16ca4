package servepmi

import "github.com/golaunch/golaunch/internal/agent/serve"

// OnDescriptor is the PMI server of ranks that inherit their connection.
type OnDescriptor struct{ *Server }

// Variable tells a rank the number of its descriptor. Who starts the rank sets it.
const Variable = "PMI_FD"

// Files are the ranks' connections.
func (OnDescriptor) Files() (perRank, more int) { return 1, 0 }

// Socket takes the rank's connection.
func (s OnDescriptor) Socket(r *serve.Rank, fd int) (taken bool, err error) {
	s.conns[r.Number].inherited = true
	return true, s.attach(r, fd)
}

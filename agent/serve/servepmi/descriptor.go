package servepmi

import "github.com/golaunch/golaunch/agent/serve"

// OnDescriptor is the PMI server of ranks that inherit their connection.
type OnDescriptor struct{ *Server }

// Env says which descriptor that is.
func (OnDescriptor) Env(r *serve.Rank) []string {
	if r != nil {
		return nil
	}
	return []string{"PMI_FD=3"} // as package proc has it
}

// Files are the ranks' connections.
func (OnDescriptor) Files() (perRank, more int) { return 1, 0 }

// Socket takes the rank's connection.
func (s OnDescriptor) Socket(r *serve.Rank, fd int) (taken bool, err error) {
	return true, s.attach(r, fd)
}

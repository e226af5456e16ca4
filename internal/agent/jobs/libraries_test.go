package jobs

import (
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
)

// fakeLibraries are MPI libraries that need nothing, and of which is known what waits says.
type fakeLibraries struct {
	waits   bool  // for a program's loader
	lacking error // why the ranks cannot start
	files   int
}

func (l *fakeLibraries) Ready() bool                    { return !l.waits }
func (l *fakeLibraries) Lacks() (job.Rank, error)       { return 0, l.lacking }
func (l *fakeLibraries) Started()                       {}
func (l *fakeLibraries) Env(int) []string               { return nil }
func (l *fakeLibraries) Files() int                     { return l.files }
func (l *fakeLibraries) FenceEntered()                  {}
func (l *fakeLibraries) FenceReleased()                 {}
func (l *fakeLibraries) ExplainSilence(*serve.Rank)     {}
func (l *fakeLibraries) Alone(*serve.Rank) *job.Failure { return nil }
func (l *fakeLibraries) Close()                         {}

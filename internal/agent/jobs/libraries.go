package jobs

import (
	"github.com/golaunch/golaunch/internal/agent/mpi"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/proc"
)

// mpiLibraries is what the agent asks about the MPI libraries of a world with local ranks.
type mpiLibraries interface {
	// Ready reports whether all is known that the ranks need to start; if not, startIf is
	// called again. Lacks says why they cannot start, Started that they do.
	Ready() bool
	Lacks() (first job.Rank, err error)
	Started()
	// Env is an app's own environment with what its ranks need.
	Env(app int) []string
	// Files counts the files that the agent may need at once for the ranks.
	Files() int

	// FenceEntered says that a local rank has entered a fence, FenceReleased that it is
	// complete.
	FenceEntered()
	FenceReleased()

	// ExplainSilence tells the user what may be wrong with a rank that has ended and never
	// spoken; Alone is the fault of one that took itself for the only rank, nil for none.
	ExplainSilence(r *serve.Rank)
	Alone(r *serve.Rank) *job.Failure

	// Close is called when the world is over.
	Close()
}

var _ mpiLibraries = (*mpi.World)(nil)

// atMPI is the agent as the Libraries of its job use it.
type atMPI struct{ station }

var _ mpi.Agent = atMPI{}

// Learned starts the ranks that waited for it.
func (s atMPI) Learned() { s.j.startIf() }

// Living counts the local ranks that have not ended.
func (s atMPI) Living() int { return s.j.end.Living() }

// OneMachine reports whether all nodes are on this machine.
func (s atMPI) OneMachine() bool { return s.j.node.OneMachine() }

// WithRank finds the rank that a process belongs to.
func (s atMPI) WithRank(pid int, do func(*mpi.World, *serve.Rank)) {
	s.j.owners.withRank(pid, func(r *rank) {
		if r == nil {
			do(nil, nil)
			return
		}
		w, _ := r.world.mpi.(*mpi.World)
		do(w, &r.Rank)
	})
}

// MemFile makes a file in memory.
func (s atMPI) MemFile(name string, contents []byte) (string, error) {
	return s.j.node.MemFile(name, contents)
}

// Scratch has the warden remove directories in the end.
func (s atMPI) Scratch(dirs []string) error { return s.j.staging.removeLater(dirs) }

// Help has the warden start a helper.
func (s atMPI) Help(h proc.Helper) error { return s.j.node.Warden().Help(s.j.number, h) }

// LostHelper tells those whom the helper has served.
func (s atMPI) LostHelper(library string, why error) { s.j.pmix.atNode().HelperEnded(library, why) }

// ranksOf are the local ranks of a world as its mpi.World knows them.
type ranksOf struct {
	j *Job
	w *world
}

var _ mpi.Ranks = ranksOf{}

// Program is what the ranks of an app run here.
func (x ranksOf) Program(app int) proc.App { return x.j.staging.programOf(x.w, app) }

// Spoke reports whether a rank has asked who it is.
func (x ranksOf) Spoke(r *serve.Rank) bool { return x.w.spoke(r) }

// Living counts those that have not ended.
func (x ranksOf) Living() int { return x.w.living }

// Fences counts the complete fences.
func (x ranksOf) Fences() int { return x.w.fences }

// FencesOver says why no fence can complete.
func (x ranksOf) FencesOver() string { return x.w.servers.board.FencesOverByPMI() }

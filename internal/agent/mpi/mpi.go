// Package mpi knows the MPI libraries that the ranks of a node use: which one a program
// links or loads, what its ranks need to find golaunch (PMI on a descriptor, as Flux, or a
// PMIx server that runs with the program's own libpmix), and the faults of some releases
// that golaunch works around.
//
// An agent has one Libraries for each job, and a World for each world with ranks on its
// node. Everything here belongs to the agent's event loop. What may take long (a program's
// loader, a process's maps, a slow file system) runs beside it, for a limited time, and its
// result is posted there.
//
// Not here: what answers ranks (internal/agent/serve), who starts them (internal/proc).
package mpi

import (
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servepmix"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/proc"
)

// Agent is what an agent does for the Libraries of a job. Only Post may be called from any
// goroutine.
type Agent interface {
	// Watch, CloseFD, Post and Note are as in serve.Node.
	Watch(fd int, h serve.Handler) error
	CloseFD(fd int)
	Post(f func())
	Note(level int, format string, args ...any)

	// Learned is told that a World may be Ready that was not.
	Learned()
	// Living counts the local ranks of the job that have not ended.
	Living() int
	// OneMachine reports whether all nodes of the job are on one machine.
	OneMachine() bool
	// WithRank hands do the local rank that a process belongs to, once that is known; nil
	// for none, and where the job ends.
	WithRank(pid int, do func(w *World, r *serve.Rank))

	// MemFile makes a file in memory, which lasts as long as the agent, and returns its
	// path. One of a name is made once.
	MemFile(name string, contents []byte) (path string, err error)
	// Scratch has directories removed at the end of the job that are there by then.
	Scratch(dirs []string) error
	// Help starts a helper, of which HelperStarted and HelperEnded tell.
	Help(h proc.Helper) error
	// LostHelper tells that the helper of a libpmix has ended, and why; nil if it was
	// told to.
	LostHelper(library string, why error)
}

// Ranks is what an agent tells of the local ranks of a World.
type Ranks interface {
	// Program is what the ranks of an app run here, but for their environment.
	Program(app int) proc.App
	// Spoke reports whether a rank has asked who it is.
	Spoke(r *serve.Rank) bool
	// Living counts those that have not ended.
	Living() int
	// Fences counts the world's fences that are complete; FencesOver says why none can
	// complete any more, "" if they can.
	Fences() int
	FencesOver() string
}

// PMIx is the PMIx server of a world.
type PMIx interface {
	// Join has the ranks served with a libpmix; done is called when they can be.
	Join(library string, done func(error))
	// Environment is what a rank finds the server by.
	Environment(r *serve.Rank) []string
}

var _ PMIx = (*servepmix.Server)(nil)

// Options are the names of a job on a node.
type Options struct {
	JobID   string // the job's, also in the environment of its ranks
	NodeJob string // the job's on this node
}

// Libraries is what the agent of a node knows of the MPI libraries of one job's ranks.
type Libraries struct {
	Options
	Helpers *Helpers // the PMIx servers of the node

	agent      Agent
	worlds     map[int]*World // those that are not over
	fixes      asked[mpichFix]
	pmixes     asked[pmixUse]
	beginsPath string        // of the pipe by which ranks ask that begin MPI; "" while there is none
	beginsEnds [2]int        // of that pipe: to read from and to write to
	left       []openMPILeft // what ranks leave that are killed
	openMPIDir string        // where they have their files; "" while there are none
}

// New returns the Libraries of a job of which nothing is known.
func New(a Agent, o Options) *Libraries {
	l := &Libraries{Options: o, agent: a, worlds: map[int]*World{}}
	l.fixes, l.pmixes = asked[mpichFix]{agent: a}, asked[pmixUse]{agent: a}
	l.Helpers = newHelpers(l)
	return l
}

// Close lets go of what is still open. All ranks have ended.
func (l *Libraries) Close() {
	l.Helpers.close()
	l.closeBegins()
}

// World is what is known of the MPI libraries of a world's local ranks.
type World struct {
	view  *serve.World
	ranks Ranks
	pmix  PMIx
	l     *Libraries

	libraries map[int]*appLibrary // by app, of those with local ranks
	begun     *begun              // what they use that have begun MPI; nil while none has asked
	asks      map[job.Rank]bool   // ranks that have asked how their MPI finds golaunch
	loaded    map[job.Rank]string // an Open MPI that a rank has loaded without what asks
	waiting   *time.Timer         // until a fence under way takes long; nil if that is not watched
}

// World takes in a world that has ranks on this node.
func (l *Libraries) World(view *serve.World, ranks Ranks, pmix PMIx) *World {
	w := &World{view: view, ranks: ranks, pmix: pmix, l: l, libraries: map[int]*appLibrary{}}
	l.worlds[view.ID] = w
	return w
}

// Close forgets a world that is over.
func (w *World) Close() {
	w.stopWaiting()
	if w.l.worlds[w.view.ID] == w {
		delete(w.l.worlds, w.view.ID)
	}
}

// isOver reports whether no rank of a world is here that golaunch has not told to end.
func (w *World) isOver() bool {
	return w.l.worlds[w.view.ID] != w || w.ranks.Living() == 0 || w.view.Ending()
}

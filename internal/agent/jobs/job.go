package jobs

import (
	"time"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/files"
	"github.com/golaunch/golaunch/internal/agent/mpi"
	"github.com/golaunch/golaunch/internal/agent/output"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// Job is one job on this node: its worlds, and what they need. Each part has a file of its
// own. It belongs to the node's event loop.
type Job struct {
	node   Node
	number job.Number
	end    ending.Job
	linger *time.Timer // while what its ranks left behind has a moment

	launch   *overlay.Launch // nil before it comes
	launched time.Time       // when it came
	nodeID   job.NodeID
	starting *world         // whose start is the job's, and its progress; from the launch on
	worlds   map[int]*world // that take part here and are not over
	newest   int            // highest number of a world so far
	early    early          // what has come of worlds before they came

	output    *output.Output // of its ranks here and below
	stopped   bool           // by Ctrl-Z: no rank is to run
	libraries *mpi.Libraries // nil before the range

	env       rankEnv
	serving   serving
	ranks     ranks
	share     share
	placing   placing
	owners    owners
	staging   staging
	stdin     stdin
	services  services
	spawns    spawns
	pmix      pmixJob
	failures  reporting
	stalls    stalls
	accounts  accounts
	profiling profiling
}

// New returns a job of a node, of which nothing is known but its number. Its ranks call at the
// node's door that use the tree. Leave, Close and Dispose release it.
func New(n Node, number job.Number, door *servetree.Door) (j *Job, err error) {
	j = without(n, number, door)
	parent := n.Parent()
	j.output, err = output.New(number, func(h tree.Header, body []byte) error {
		return parent.SendNow(link.Stdio, h, body)
	}, func() { n.Post(func() { j.Do(j.end.OutputIdle(n.End())) }) })
	return j, err
}

// without returns a job that has no output yet.
func without(n Node, number job.Number, door *servetree.Door) *Job {
	j := &Job{number: number, worlds: map[int]*world{}}
	j.owners.byPID = map[int]*rank{}
	j.serving.door = door
	j.staging.files = files.New(func(dir string, err error) { n.Post(func() { j.staging.arrived(dir, err) }) })
	j.join(n)
	return j
}

// join has a job be one of a node's, and its parts know it.
func (j *Job) join(n Node) {
	j.node = n
	j.env.j, j.serving.j, j.ranks.j, j.share.j, j.placing.j, j.owners.j, j.staging.j, j.stdin.j, j.services.j = j, j, j, j, j, j, j, j, j
	j.spawns.j, j.pmix.j, j.failures.j, j.stalls.j, j.accounts.j, j.profiling.j = j, j, j, j, j, j
}

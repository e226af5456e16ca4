package agent

import (
	"os"
	"runtime"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/topology/node"
)

// oneProcessor has the agent run on one processor at a time: threads that wake
// each other for a few messages cost more than they gain, and take what is the
// ranks'.
func oneProcessor() { runtime.GOMAXPROCS(1) }

// machine is what an agent has and knows of the machine that it runs on.
type machine struct {
	n          *Agent
	spread     bool // over more than one processor
	ballast    []byte
	processors *node.Node          // the inside of the host; nil until a rank is bound
	memFiles   map[string]*os.File // by name, of Launch.Libraries: those that some app needs
	hostFiles  hostFileReader
	files      map[job.Number]int // open ones that jobs' ranks need
	tooFew     error              // not all of them can be had
}

// moreProcessors lets an agent with children to connect, or with many ranks,
// use what Go finds best.
func (m *machine) moreProcessors() {
	if !m.spread {
		m.spread = true
		runtime.SetDefaultGOMAXPROCS()
	}
}

// ballastSize is how much garbage, in bytes, an agent lets pile up beyond as much as it
// holds, once a rank of its node uses the tree. Without it Go collects every 4 MiB: of a
// reduction of 10 MB that was a quarter of an agent's time.
const ballastSize = 16 << 20

// moreGarbage has the agent collect garbage less often: memory that is never touched, and
// so costs none, counts as held.
func (m *machine) moreGarbage() {
	if m.ballast == nil {
		m.ballast = make([]byte, ballastSize)
	}
}

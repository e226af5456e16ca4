package ending

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// Action is one thing that an agent is to do now. Those of one event are in
// order.
type Action struct {
	Do     Verb
	Job    job.Number    // whose it is; 0 for the node's, and of what a Job returns
	Grace  time.Duration // of Kill: before ranks are killed that were asked to end; of Watch: in addition to the warden's own time
	Number int           // of Watch: what WardenStuck is to be told
	Err    error         // of Sweep and Unfit: why
}

// Verb is what an Action has the agent do.
type Verb int

// What an agent can be asked to do.
const (
	// StartNone counts the ranks that wait to start as ended: they never will.
	StartNone Verb = iota + 1
	// Settle gives this node's part in the end of each world of the job whose ranks here have
	// all ended.
	Settle
	// Linger gives what the ranks left behind a moment; LingerOver tells that it is
	// over.
	Linger
	// StopLinger takes that back.
	StopLinger
	// Kill has the warden end the ranks of the job, and what they left behind. RanksGone
	// answers. A warden that cannot be told is lost.
	Kill
	// Watch gives the warden its time to do what it was told, in place of what it
	// was given before for the same job, or the node; WardenStuck tells that it is over.
	Watch
	// Finish has the warden end everything, and itself. WardenLost answers.
	Finish
	// Destroy kills the warden. WardenLost answers.
	Destroy
	// Beat tells the warden that this agent lives.
	Beat
	// BeatLater has BeatDue told once more, after a while.
	BeatLater
	// Cut takes what the pipes of ranks hold whose worlds have no rank here any more,
	// and closes them, whoever else holds them open.
	Cut
	// CutAll does so for all ranks of the job.
	CutAll
	// Shut closes where ranks of the job could still connect.
	Shut
	// Sweep ends what a lost warden left behind, and reports the loss, with Err.
	Sweep
	// Forsake counts all ranks of the job as ended, with the warden, and settles their worlds.
	Forsake
	// CallOff has no more hosts started.
	CallOff
	// EndChildren tells each child that the job is over for it. FamilyEnded tells
	// that all have acknowledged it, are lost, or had their time.
	EndChildren
	// Unfit says why this node can have no ranks, with Err.
	Unfit
)

var verbs = [...]string{
	StartNone: "start none", Settle: "settle", Linger: "linger", StopLinger: "stop linger", Kill: "kill",
	Watch: "watch", Finish: "finish", Destroy: "destroy", Beat: "beat", BeatLater: "beat later", Cut: "cut",
	CutAll: "cut all", Shut: "shut", Sweep: "sweep", Forsake: "forsake", CallOff: "call off",
	EndChildren: "end children", Unfit: "unfit",
}

// String is the verb in words.
func (v Verb) String() string { return verbs[v] }

package trees

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// Job is the job of a tree, as far as the tree tells it anything.
type Job interface {
	// HostsTried hears which of so many hosts, on which agents were started, are dead. It
	// reports whether it has others started in their place.
	HostsTried(dead []overlay.DeadHost, tried int) (replaced bool)
	// TreeUp hears that no further host is awaited.
	TreeUp()
	// ReplaceFailed hears why hosts cannot be started in place of dead ones.
	ReplaceFailed(err error)
	// Grown hears which further hosts are up, or why none is.
	Grown(ready overlay.Ready, err error)
	// HostsLost hears of hosts that were lost since the tree was up.
	HostsLost(dead []overlay.DeadHost)
	// RootLost hears of the end of the tree's one link.
	RootLost(root overlay.HostEntry, err error)
	// Late hears that the time of the tear-down may be over.
	Late()
	// Noted hears what a host has to say to the user, Silent of one that was cut off.
	Noted(n overlay.Note)
	Silent(n overlay.Note)
	// Demanded hears that the agent of a host was told to terminate, DemandedNext when
	// that comes while the tree ends.
	Demanded(host job.HostIndex)
	DemandedNext()
	// RootTimed hears that the clock of the root agent is known.
	RootTimed()
	// Message takes one of the root that is not the tree's own. An error means that it broke
	// the protocol.
	Message(m overlay.Message) error
	// Ended reports whether the job waits for nothing more.
	Ended() bool
}

// Reporter says what the user is to know: Note what one who asked for quiet may miss.
type Reporter interface {
	Say(format string, args ...any)
	Note(format string, args ...any)
}

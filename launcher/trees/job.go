package trees

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// Job is the job of a tree, which tells it of events.
type Job interface {
	// HostsTried hears the dead ones of so many hosts that agents were started on. It
	// reports whether it has others started in their place.
	HostsTried(dead []overlay.DeadHost, tried int) (replaced bool)
	// TreeUp hears that no further host is awaited.
	TreeUp()
	// ReplaceFailed hears the reason that hosts cannot be started in place of dead ones.
	ReplaceFailed(err error)
	// Grown hears of the further hosts that are up, or the reason that none is.
	Grown(ready overlay.Ready, err error)
	// HostsLost hears of hosts that were lost since the tree was up.
	HostsLost(dead []overlay.DeadHost)
	// RootLost hears of the end of the tree's one link.
	RootLost(root overlay.HostEntry, err error)
	// Late hears that the time of the tear-down may be over.
	Late()
	// Noted hears a host's note to the user, Silent of a host that was cut off.
	Noted(n overlay.Note)
	Silent(n overlay.Note)
	// Demanded hears that the agent of a host was told to terminate, DemandedNext when
	// that comes while the tree ends.
	Demanded(host job.HostIndex)
	DemandedNext()
	// RootTimed hears that the clock of the root agent is known.
	RootTimed()
	// Message takes a message of the root that is not the tree's own. An error means that
	// it broke the protocol.
	Message(m overlay.Message) error
	// Ended reports whether the job waits for nothing more.
	Ended() bool
}

// Reporter writes messages for the user: with --quiet, those of Note are left out.
type Reporter interface {
	Say(format string, args ...any)
	Note(format string, args ...any)
}

package launcher

import (
	"context"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/launcher/trees"
	"github.com/golaunch/golaunch/tree"
)

// jobTree is the tree of a job, as far as the job knows it.
type jobTree interface {
	ID() string

	// Messages to agents, and facts about theirs.
	Send(s link.Stream, h tree.Header, body []byte)
	Edges() []*overlay.Edge
	Suspend(on bool) error
	Know(n job.Number, world int, blocks []job.Block)
	Forget(n job.Number, world int)
	Watched(m overlay.Message)
	Since(m overlay.Message, f job.Failure) time.Time

	// Its hosts.
	Up() bool
	Growing() bool
	Hosts() overlay.Ready
	Known() overlay.Ready
	Root() (host overlay.HostEntry, ok bool)
	HowFar() overlay.Progress
	Replace(c *trees.Config)
	Extend(c *trees.Config)
	Without(dead []overlay.DeadHost)

	// The background work of the job.
	Context() context.Context
	Go(task func())
	Post(e overlay.Event)
	PostAfter(d time.Duration, e overlay.Event) *time.Timer

	// Its end.
	Kill(n job.Number, grace time.Duration)
	LimitEnd()
	MoreTime(d time.Duration)
	CutOff(owed overlay.Owed)
	Whole(f *job.Failure) *bootstrap.Error
	ExplainLoss(f *job.Failure)

	// The account at the end.
	Marks() []trees.Mark
	PingRoot() (begun bool)
	Starts() []report.Start
	OnOurClock(nodes []report.Node)
}

// rooted reports whether the tree has a root agent.
func (r *run) rooted() bool {
	_, ok := r.tree.Root()
	return ok
}

// broadcast sends all agents a message.
func (r *run) broadcast(s link.Stream, kind tree.Kind, body []byte) {
	r.tree.Send(s, tree.Header{Kind: kind, Job: r.number, To: tree.Everyone}, body)
}

// tell sends the root a message.
func (r *run) tell(s link.Stream, kind tree.Kind, body []byte) {
	r.tree.Send(s, tree.Header{Kind: kind, Job: r.number, To: tree.Neighbor}, body)
}

// tellOf sends the root a message about a world.
func (r *run) tellOf(world int, s link.Stream, kind tree.Kind, body []byte) {
	r.tree.Send(s, tree.Header{Kind: kind, Job: r.number, World: uint16(world), To: tree.Neighbor}, body)
}

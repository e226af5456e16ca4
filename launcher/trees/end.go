package trees

import (
	"context"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// treeLate is the event that the time of the tear-down may be over.
type treeLate struct{}

// Kill has every rank of a job ended: SIGTERM, and SIGKILL after grace. Then the tree has
// its time to end.
func (t *Tree) Kill(n job.Number, grace time.Duration) {
	t.killed = true
	t.deadline.Killed(grace)
	t.Send(link.Control, tree.Header{Kind: overlay.KindKill, Job: n, To: tree.Everyone}, overlay.Encode(overlay.Kill{Grace: grace}))
}

// LimitEnd begins the time that the tree has to end, if it has not begun.
func (t *Tree) LimitEnd() {
	if !t.deadline.Begun() {
		t.deadline.Killed(0)
	}
}

// MoreTime gives the tree more time to end.
func (t *Tree) MoreTime(d time.Duration) { t.deadline.Later(d) }

// note takes a note that the root has passed on.
func (t *Tree) note(n overlay.Note) {
	if n.Silent && t.deadline.Begun() {
		t.silent(n)
		return
	}
	t.job.Noted(n)
}

// silent tells of a host whose agent was cut off.
func (t *Tree) silent(n overlay.Note) {
	t.cut = true
	t.job.Silent(n)
}

// CutOff ends the link to the root, which owes something, and tells the user, unless
// somebody below it is named already: it may have waited for that one.
func (t *Tree) CutOff(owed overlay.Owed) {
	var late []tree.Slot
	for slot := range t.subtree.Children {
		late = append(late, slot)
	}
	for _, slot := range late {
		if !t.cut {
			t.silent(overlay.Silent(t.subtree.Host(slot), owed))
		}
		t.subtree.Silence(slot)
		t.subtree.Leave(slot)
		t.subtree.Sweep(slot)
	}
}

// End has the tree end, and goes on without agents that do not. If the job is left, its
// one link cannot come to a good end, and is just given up.
func (t *Tree) End(left bool) {
	if !left {
		t.deadline.Ended()
		ctx, cancel := context.WithDeadline(context.Background(), t.deadline.By())
		defer cancel()
		t.subtree.End(ctx)
		t.awaitRoot(ctx)
		t.CutOff(overlay.OwesEnd)
	}
	t.clock.Mark("tree down")
}

// awaitRoot waits until the root has ended its side, so that the agents are gone before
// golaunch is. The host of one that is lost meanwhile is swept.
func (t *Tree) awaitRoot(ctx context.Context) {
	for over := false; !over && t.rooted(); {
		select {
		case <-t.woken:
		case <-ctx.Done():
			over = true
		}
		for _, e := range t.inbox.Take(nil) {
			t.handleEnding(e)
		}
	}
}

// handleEnding handles an event after END: the root's end, an agent cut off below it,
// or one that was told to terminate.
func (t *Tree) handleEnding(e overlay.Event) {
	switch e := e.(type) {
	case overlay.EdgeEnded:
		if t.subtree.Live(e.From) {
			t.subtree.Leave(e.From)
			if e.Err != nil {
				t.subtree.Sweep(e.From)
			}
		}
	case overlay.Message:
		if !t.subtree.Live(e.From) {
			return
		}
		switch e.Header.Kind {
		case overlay.KindNote:
			_ = overlay.TakeAny(e, t.note) // the link has judged it
		case overlay.KindDemand:
			t.job.DemandedNext()
		}
	}
}

// leastSweep is the least time to sweep hosts, however late it is.
const leastSweep = time.Second

// Close releases everything. It takes a few seconds at most.
func (t *Tree) Close() {
	t.stop()
	t.deadline.Stop()
	t.closeLinks()
	if t.boot.orphans {
		unix.EndChildren()
	}
	t.boot.close()
	t.tasks.Wait()
	if t.growing != nil {
		t.growing.opening.close()
	}
}

// closeLinks lets go of the agents. Hosts cut off in the tear-down have been swept by
// then, as far as they can be: none keeps golaunch for longer.
func (t *Tree) closeLinks() {
	if !t.deadline.Begun() {
		t.subtree.Close()
		return
	}
	by := t.deadline.Sweeps()
	if least := time.Now().Add(leastSweep); by.Before(least) {
		by = least
	}
	overlay.Until(by, t.subtree.Close)
}

// ExplainLoss adds to the loss of a host the manager's word about its agent.
func (t *Tree) ExplainLoss(f *job.Failure) { t.boot.explainLoss(f) }

// Whole returns the manager's word about its command for all hosts, nil if there is
// none.
func (t *Tree) Whole(f *job.Failure) *bootstrap.Error { return t.boot.whole(f) }

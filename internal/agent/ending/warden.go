package ending

import (
	"fmt"
	"slices"
	"time"
)

// WardenUp takes the warden in. One that comes too late is told to end.
func (n *Node) WardenUp() []Action {
	n.warden = present
	if n.over || !n.finished {
		return nil
	}
	return []Action{{Do: Finish}, n.watch(0)}
}

// WardenFailed notes that there is no warden, and why: this node can have no
// ranks. Where the job is over anyhow none is needed.
func (n *Node) WardenFailed(why error) []Action {
	n.warden = absent
	n.leaveIf()
	if n.over || n.leaving {
		return nil
	}
	return n.unfit(why)
}

// unfit ends an agent that has no warden. Before the launch its parent then finds
// the host dead; afterwards the job has lost a node.
func (n *Node) unfit(why error) []Action {
	n.ParentLost()
	return []Action{{Do: Unfit, Err: why}}
}

// WardenStuck notes that the time is over that Watch gave the warden with this
// number. One that has not done what it was told is destroyed: it is stopped, or
// worse. What it leaves is swept when its loss shows.
func (n *Node) WardenStuck(number int, jobs ...Numbered) []Action {
	awaited := n.finished && number == n.patience
	if !n.finished { // the grace of one job is not another's
		awaited = slices.ContainsFunc(jobs, func(j Numbered) bool { return j.watched == number && j.awaits() })
	}
	if n.over || n.warden == gone || !awaited {
		return nil
	}
	n.finished = false
	return does(Destroy)
}

// WardenLost takes the end of the warden, and its cause: expected once everything
// local is finished, a failure of the node before that.
func (n *Node) WardenLost(why error, jobs ...Numbered) []Action {
	if n.over || n.warden == gone {
		return nil
	}
	n.warden = gone
	if n.deaf != nil {
		why = n.deaf
	}
	if !n.launched && !n.finished && !n.leaving {
		return n.unfit(why)
	}
	var out []Action
	if !n.finished {
		out = append(out, Action{Do: Sweep, Err: why})
	}
	n.finished = true
	n.leaveIf()
	for _, j := range jobs {
		out = append(out, j.its(j.lost())...)
	}
	return out
}

// WardenHeard notes that the warden lives.
func (n *Node) WardenHeard() { n.unanswered = 0 }

// BeatDue has the warden told that this agent lives, every so long; not at all if
// that is 0. A warden that has answered none for longer than patience is
// destroyed: it is stopped, or worse; its loss then ends what it leaves. Beats are
// counted, not time, which goes on while this process is stopped.
func (n *Node) BeatDue(every, patience time.Duration) []Action {
	if n.over || n.warden == gone || every == 0 {
		return nil
	}
	if silent := time.Duration(n.unanswered) * every; silent > patience && !n.finished {
		n.deaf = fmt.Errorf("the warden was silent for %v and was killed", silent)
		return does(Destroy)
	}
	n.unanswered++
	out := does(Beat)
	if n.finished {
		out = append(out, Action{Do: Finish}) // it may have been stopped since it was told
	}
	return append(out, Action{Do: BeatLater})
}

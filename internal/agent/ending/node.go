package ending

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// Node is how far the end of one agent's life is. The zero value is an agent that knows
// nothing of its tree yet, and has no warden. It is told of every event that is no job's, in
// order, with the jobs that it concerns, and returns what is to be done, in which a job's
// part has its number. Once Over it asks for nothing.
type Node struct {
	ranged       bool // the agent knows who it is, and may have children
	launched     bool
	warden       warden
	finished     bool // the warden was told to end, or has
	leaving      bool // END came from the parent
	childrenOver bool // the children have acknowledged END
	lost         bool
	over         bool
	patience     int   // numbers what the warden is given time for
	unanswered   int   // beats since the warden was last heard of
	deaf         error // why the warden was destroyed; nil unless it answered no beats
}

// Numbered is a job with its number, by which actions name it.
type Numbered struct {
	Number job.Number
	*Job
}

// warden is whether there is one.
type warden uint8

const (
	absent warden = iota // not yet, or never
	begun                // it is being started
	present
	gone
)

// Finished reports whether the warden was told to end, or has ended.
func (n *Node) Finished() bool { return n.finished }

// Leaving reports whether the parent has said END.
func (n *Node) Leaving() bool { return n.leaving }

// WardenHere reports whether there is a warden that is not lost.
func (n *Node) WardenHere() bool { return n.warden == present }

// WardenGone reports whether the warden has ended.
func (n *Node) WardenGone() bool { return n.warden == gone }

// Over reports whether the tree is over for this agent.
func (n *Node) Over() bool { return n.over }

// Lost reports whether it is over in disorder: there is no parent any more, or
// none that this node is of use to.
func (n *Node) Lost() bool { return n.lost }

// Ranged notes that the agent knows who it is. From now on it may have children.
func (n *Node) Ranged() { n.ranged = true }

// WardenBegun notes that a warden is being started: WardenUp follows, or
// WardenFailed.
func (n *Node) WardenBegun() { n.warden = begun }

// HadLaunch reports whether a job was launched.
func (n *Node) HadLaunch() bool { return n.launched }

// Launched notes that a job is launched: from now on ranks may come.
func (n *Node) Launched() { n.launched = true }

// ParentEnded begins the orderly end that the parent's END asks for. Whatever
// still runs is killed: the launcher has decided.
func (n *Node) ParentEnded(jobs ...Numbered) []Action {
	if n.over || n.leaving {
		return nil
	}
	n.leaving = true
	if !n.ranged {
		n.over = true
		return nil
	}
	out := does(CallOff)
	for _, j := range jobs {
		out = append(out, j.its(j.KillOrdered(n, 0))...)
	}
	if !n.finished {
		n.finished = true
		for _, j := range jobs {
			j.watched = 0 // the time of the node counts
			out = append(append(out, j.its(j.stopLinger())...), j.its(does(Shut))...)
		}
		if n.warden == present {
			out = append(out, Action{Do: Finish}, n.watch(0))
		}
	}
	return append(out, Action{Do: EndChildren})
}

// ChildrenEnded notes that the children have ended, as far as they will.
func (n *Node) ChildrenEnded() {
	n.childrenOver = true
	n.leaveIf()
}

// leaveIf ends the agent in good order once its children and its warden have
// ended, one that is still being started, too.
func (n *Node) leaveIf() {
	n.over = n.over || n.leaving && n.childrenOver && n.warden != begun && n.warden != present
}

// ParentLost ends everything at once: a node without a launcher has no job.
func (n *Node) ParentLost() { n.over, n.lost = true, true }

// watch gives the warden its time to end what it was told to.
func (n *Node) watch(grace time.Duration) Action {
	n.patience++
	return Action{Do: Watch, Grace: grace, Number: n.patience}
}

// its gives a job's actions the job's number.
func (j Numbered) its(actions []Action) []Action {
	for i := range actions {
		if actions[i].Do != Watch {
			actions[i].Job = j.Number
		}
	}
	return actions
}

// does is the actions that need no more than their verbs.
func does(verbs ...Verb) (out []Action) {
	for _, v := range verbs {
		out = append(out, Action{Do: v})
	}
	return out
}

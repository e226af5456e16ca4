package ending

import "time"

// Job is how far the end of one job is on a node. The zero value is a job without ranks.
// It is told of every event that is its own, in order, with the node's Node, and returns
// what is to be done: all of it for this job, but for Watch.
type Job struct {
	waiting   int  // ranks of this node that may be started still
	running   int  // ranks that the warden was handed, and that have not ended
	ran       bool // it was handed some, which may have left something behind
	lingering bool
	cleaning  bool // the warden was told to end what the ranks left behind
	killed    bool
	watched   int // number of the last time that the warden was given for it; 0 for none
}

// Killed reports whether the ranks were told to end.
func (j *Job) Killed() bool { return j.killed }

// Living is how many ranks of this node have not ended: those that wait to start,
// too.
func (j *Job) Living() int { return j.waiting + j.running }

// RanksCome takes in the ranks of a world: count that wait to start. What earlier ones
// left behind ends with them at the latest.
func (j *Job) RanksCome(n *Node, count int) []Action {
	j.waiting += count
	if n.over || !j.lingering {
		return nil
	}
	j.lingering = false
	return does(StopLinger, Settle)
}

// RanksHanded notes that count ranks that waited are the warden's now.
func (j *Job) RanksHanded(count int) {
	j.waiting -= count
	j.running += count
	j.ran = j.ran || count > 0
}

// RanksNever counts ranks out that waited and will never start. Quiet is as for
// RankEnded.
func (j *Job) RanksNever(n *Node, count int, quiet bool) []Action {
	j.waiting -= count
	if count == 0 || !j.ran {
		return nil
	}
	return j.endedIf(n, quiet)
}

// RankEnded counts a rank out that was handed to the warden. Last tells that it
// was the last one here of its world, quiet that nothing on this node can write to
// the output of a rank of the job. A rank whose end is heard after its warden was lost was
// counted out with that.
func (j *Job) RankEnded(n *Node, last, quiet bool) []Action {
	if n.warden == gone {
		return nil
	}
	j.running--
	if last && j.Living() > 0 && !n.over {
		return does(Settle)
	}
	return j.endedIf(n, quiet)
}

// endedIf gives what the ranks left behind its moment, if all have ended.
func (j *Job) endedIf(n *Node, quiet bool) []Action {
	switch {
	case n.over || n.finished || j.Living() > 0:
		return nil
	case quiet:
		return j.clean(n)
	}
	j.lingering = true
	return does(Linger)
}

// OutputIdle notes that nothing on this node can write to the output of a rank of the job
// any more.
func (j *Job) OutputIdle(n *Node) []Action {
	if n.over || !j.lingering {
		return nil
	}
	return j.clean(n)
}

// LingerOver notes that what outlived the ranks has had its time.
func (j *Job) LingerOver(n *Node) []Action {
	if n.over {
		return nil
	}
	return j.clean(n)
}

// clean has what outlived the ranks killed: nobody waits for that but the end of
// their output, and of the job.
func (j *Job) clean(n *Node) []Action {
	if j.Living() > 0 || n.finished {
		return nil
	}
	out := append(j.stopLinger(), does(Settle)...)
	if j.cleaning || n.warden != present {
		return out
	}
	j.cleaning = true
	return append(out, j.kill(n, 0)...)
}

// kill has the warden end what runs of the job, in its time.
func (j *Job) kill(n *Node, grace time.Duration) []Action {
	watch := n.watch(grace)
	j.watched = watch.Number
	return []Action{{Do: Kill, Grace: grace}, watch}
}

func (j *Job) stopLinger() []Action {
	if !j.lingering {
		return nil
	}
	j.lingering = false
	return does(StopLinger)
}

// RanksGone notes that nothing is left of what the warden was told to end. Ranks
// of a new world may run by now.
func (j *Job) RanksGone(n *Node) []Action {
	if n.over || !j.cleaning {
		return nil
	}
	j.cleaning = false
	return does(Cut)
}

// KillOrdered ends the ranks, after a grace that a later order can only end. Ranks
// not started yet never will be.
func (j *Job) KillOrdered(n *Node, grace time.Duration) []Action {
	if n.over || j.killed && grace > 0 {
		return nil
	}
	j.killed = true
	out := does(StartNone)
	if n.warden == present && j.running > 0 {
		out = append(out, j.kill(n, grace)...)
	}
	return out
}

// awaits reports whether the warden was told to end something of the job that it has not
// ended.
func (j *Job) awaits() bool { return j.cleaning || j.killed && j.Living() > 0 }

// lost counts all ranks out, with their warden.
func (j *Job) lost() []Action {
	j.cleaning, j.waiting, j.running = false, 0, 0
	return does(CutAll, Forsake)
}

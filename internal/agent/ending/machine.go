package ending

import "time"

// Machine is how far the end of one agent's life is. The zero value is an agent
// that knows nothing of its job yet, and has no warden. It is told of every event,
// in order, and returns what is to be done. Once Over it asks for nothing.
type Machine struct {
	ranged       bool // the agent knows who it is, and may have children
	launched     bool
	waiting      int  // ranks of this node that may be started still
	running      int  // ranks that the warden was handed, and that have not ended
	ran          bool // it was handed some, which may have left something behind
	warden       warden
	lingering    bool
	cleaning     bool // the warden was told to end what the ranks left behind
	killed       bool
	finished     bool // the warden was told to end, or has
	leaving      bool // END came from the parent
	childrenOver bool // the children have acknowledged END
	lost         bool
	over         bool
	patience     int   // numbers what the warden is given time for
	unanswered   int   // beats since the warden was last heard of
	deaf         error // why the warden was destroyed; nil unless it answered no beats
}

// warden is whether there is one.
type warden uint8

const (
	absent warden = iota // not yet, or never
	begun                // it is being started
	present
	gone
)

// Killed reports whether the ranks were told to end.
func (m *Machine) Killed() bool { return m.killed }

// Finished reports whether the warden was told to end, or has ended.
func (m *Machine) Finished() bool { return m.finished }

// Leaving reports whether the parent has said END.
func (m *Machine) Leaving() bool { return m.leaving }

// WardenHere reports whether there is a warden that is not lost.
func (m *Machine) WardenHere() bool { return m.warden == present }

// WardenGone reports whether the warden has ended.
func (m *Machine) WardenGone() bool { return m.warden == gone }

// Living is how many ranks of this node have not ended: those that wait to start,
// too.
func (m *Machine) Living() int { return m.waiting + m.running }

// Over reports whether the job is over for this agent.
func (m *Machine) Over() bool { return m.over }

// Lost reports whether it is over in disorder: there is no parent any more, or
// none that this node is of use to.
func (m *Machine) Lost() bool { return m.lost }

// Ranged notes that the agent knows who it is. From now on it may have children.
func (m *Machine) Ranged() { m.ranged = true }

// WardenBegun notes that a warden is being started: WardenUp follows, or
// WardenFailed.
func (m *Machine) WardenBegun() { m.warden = begun }

// Launched notes that the job is launched: from now on its ranks may come.
func (m *Machine) Launched() { m.launched = true }

// RanksCome takes in the ranks of a world: n that wait to start. What earlier ones
// left behind ends with them at the latest.
func (m *Machine) RanksCome(n int) []Action {
	m.waiting += n
	if m.over || !m.lingering {
		return nil
	}
	m.lingering = false
	return does(StopLinger, Settle)
}

// RanksHanded notes that n ranks that waited are the warden's now.
func (m *Machine) RanksHanded(n int) {
	m.waiting -= n
	m.running += n
	m.ran = m.ran || n > 0
}

// RanksNever counts n ranks out that waited and will never start. Quiet is as for
// RankEnded.
func (m *Machine) RanksNever(n int, quiet bool) []Action {
	m.waiting -= n
	if n == 0 || !m.ran {
		return nil
	}
	return m.endedIf(quiet)
}

// RankEnded counts a rank out that was handed to the warden. Last tells that it
// was the last one here of its world, quiet that nothing on this node can write to
// a rank's output. A rank whose end is heard after its warden was lost was counted
// out with that.
func (m *Machine) RankEnded(last, quiet bool) []Action {
	if m.warden == gone {
		return nil
	}
	m.running--
	if last && m.Living() > 0 && !m.over {
		return does(Settle)
	}
	return m.endedIf(quiet)
}

// endedIf gives what the ranks left behind its moment, if all have ended.
func (m *Machine) endedIf(quiet bool) []Action {
	switch {
	case m.over || m.finished || m.Living() > 0:
		return nil
	case quiet:
		return m.clean()
	}
	m.lingering = true
	return does(Linger)
}

// OutputIdle notes that nothing on this node can write to a rank's output any
// more.
func (m *Machine) OutputIdle() []Action {
	if m.over || !m.lingering {
		return nil
	}
	return m.clean()
}

// LingerOver notes that what outlived the ranks has had its time.
func (m *Machine) LingerOver() []Action {
	if m.over {
		return nil
	}
	return m.clean()
}

// clean has what outlived the ranks killed: nobody waits for that but the end of
// their output, and of the job.
func (m *Machine) clean() []Action {
	if m.Living() > 0 || m.finished {
		return nil
	}
	out := append(m.stopLinger(), does(Settle)...)
	if m.cleaning || m.warden != present {
		return out
	}
	m.cleaning = true
	return append(out, Action{Do: Kill}, m.watch(0))
}

func (m *Machine) stopLinger() []Action {
	if !m.lingering {
		return nil
	}
	m.lingering = false
	return does(StopLinger)
}

// RanksGone notes that nothing is left of what the warden was told to end. Ranks
// of a new world may run by now.
func (m *Machine) RanksGone() []Action {
	if m.over || !m.cleaning {
		return nil
	}
	m.cleaning = false
	return does(Cut)
}

// KillOrdered ends the ranks, after a grace that a later order can only end. Ranks
// not started yet never will be.
func (m *Machine) KillOrdered(grace time.Duration) []Action {
	if m.over || m.killed && grace > 0 {
		return nil
	}
	m.killed = true
	out := does(StartNone)
	if m.warden == present && m.running > 0 {
		out = append(out, Action{Do: Kill, Grace: grace}, m.watch(grace))
	}
	return out
}

// ParentEnded begins the orderly end that the parent's END asks for. Whatever
// still runs is killed: the launcher has decided.
func (m *Machine) ParentEnded() []Action {
	if m.over || m.leaving {
		return nil
	}
	m.leaving = true
	if !m.ranged {
		m.over = true
		return nil
	}
	out := append(does(CallOff), m.KillOrdered(0)...)
	if !m.finished {
		m.finished = true
		out = append(append(out, m.stopLinger()...), does(Shut)...)
		if m.warden == present {
			out = append(out, Action{Do: Finish}, m.watch(0))
		}
	}
	return append(out, Action{Do: EndChildren})
}

// ChildrenEnded notes that the children have ended, as far as they will.
func (m *Machine) ChildrenEnded() {
	m.childrenOver = true
	m.leaveIf()
}

// leaveIf ends the agent in good order once its children and its warden have
// ended, one that is still being started, too.
func (m *Machine) leaveIf() {
	m.over = m.over || m.leaving && m.childrenOver && m.warden != begun && m.warden != present
}

// ParentLost ends everything at once: a node without a launcher has no job.
func (m *Machine) ParentLost() { m.over, m.lost = true, true }

// watch gives the warden its time to end what it was told to.
func (m *Machine) watch(grace time.Duration) Action {
	m.patience++
	return Action{Do: Watch, Grace: grace, Number: m.patience}
}

// does is the actions that need no more than their verbs.
func does(verbs ...Verb) (out []Action) {
	for _, v := range verbs {
		out = append(out, Action{Do: v})
	}
	return out
}

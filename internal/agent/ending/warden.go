package ending

import (
	"fmt"
	"time"
)

// WardenUp takes the warden in. One that comes too late is told to end.
func (m *Machine) WardenUp() []Action {
	m.warden = present
	if m.over || !m.finished {
		return nil
	}
	return []Action{{Do: Finish}, m.watch(0)}
}

// WardenFailed notes that there is no warden, and why: this node can have no
// ranks. Where the job is over anyhow none is needed.
func (m *Machine) WardenFailed(why error) []Action {
	m.warden = absent
	m.leaveIf()
	if m.over || m.leaving {
		return nil
	}
	return m.unfit(why)
}

// unfit ends an agent that has no warden. Before the launch its parent then finds
// the host dead; afterwards the job has lost a node.
func (m *Machine) unfit(why error) []Action {
	m.ParentLost()
	return []Action{{Do: Unfit, Err: why}}
}

// WardenStuck notes that the time is over that Watch gave the warden with this
// number. One that has not done what it was told is destroyed: it is stopped, or
// worse. What it leaves is swept when its loss shows.
func (m *Machine) WardenStuck(number int) []Action {
	awaited := m.finished || m.cleaning || m.killed && m.Living() > 0
	if m.over || number != m.patience || m.warden == gone || !awaited {
		return nil
	}
	m.finished = false
	return does(Destroy)
}

// WardenLost takes the end of the warden, and its cause: expected once everything
// local is finished, a failure of the node before that.
func (m *Machine) WardenLost(why error) []Action {
	if m.over || m.warden == gone {
		return nil
	}
	m.warden = gone
	if m.deaf != nil {
		why = m.deaf
	}
	if !m.launched && !m.finished && !m.leaving {
		return m.unfit(why)
	}
	var out []Action
	if !m.finished {
		out = append(out, Action{Do: Sweep, Err: why})
	}
	m.finished, m.cleaning, m.waiting, m.running = true, false, 0, 0
	m.leaveIf()
	return append(out, does(CutAll, Forsake)...)
}

// WardenHeard notes that the warden lives.
func (m *Machine) WardenHeard() { m.unanswered = 0 }

// BeatDue has the warden told that this agent lives, every so long; not at all if
// that is 0. A warden that has answered none for longer than patience is
// destroyed: it is stopped, or worse; its loss then ends what it leaves. Beats are
// counted, not time, which goes on while this process is stopped.
func (m *Machine) BeatDue(every, patience time.Duration) []Action {
	if m.over || m.warden == gone || every == 0 {
		return nil
	}
	if silent := time.Duration(m.unanswered) * every; silent > patience && !m.finished {
		m.deaf = fmt.Errorf("the warden was silent for %v and was killed", silent)
		return does(Destroy)
	}
	m.unanswered++
	out := does(Beat)
	if m.finished {
		out = append(out, Action{Do: Finish}) // it may have been stopped since it was told
	}
	return append(out, Action{Do: BeatLater})
}

package jobs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/tree"
)

// At the end of its time a job is asked for the states of its ranks. An agent watches the
// processes of its own for a moment, and waits for no child for ever that is stopped.

// momentLong is for how long processes are watched.
const momentLong = 200 * time.Millisecond

// states is a question for the states of ranks, while it is not answered.
type states struct {
	question overlay.WaitQuestion
	watching bool               // the local ranks' processes
	mute     map[tree.Slot]bool // children that have not answered in time, which are not asked again
}

// askStates has this node's part of the answer come, and all of it in time.
func (s *stalls) askStates(q overlay.WaitQuestion) {
	s.states = states{question: q, watching: true}
	var pids []int
	below := 0
	for _, w := range s.j.worlds {
		for _, r := range w.ranks {
			if r.PID > 0 && !r.Exited {
				pids = append(pids, r.PID)
			}
		}
	}
	for slot := range s.j.node.Subtree().Children {
		below += len(s.j.node.Subtree().Below(slot))
	}
	time.AfterFunc(overlay.StatesWithin(tree.Depth(below+1, s.j.node.Common().Degree)), func() { s.j.node.Post(func() { s.statesLate(q.Number) }) })
	go func() { // ends with a look at the processes; what hangs in it is not waited for
		moments, err := proc.Moments(pids, momentLong)
		if err != nil {
			moments = nil
		}
		s.j.node.Post(func() { s.momentsSeen(q.Number, moments) })
	}()
}

// momentsSeen adds this node's part: what processes do, by pid; nil if nothing can be seen.
func (s *stalls) momentsSeen(number int, moments map[int]proc.Moment) {
	if !s.states.watching || number != s.states.question.Number {
		return
	}
	s.states.watching = false
	own := s.ownWaits(s.states.question)
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(s.j.worlds)) {
		own.MergeStates(s.j.worlds[id].states(moments, now)...)
	}
	s.tellIf(s.gather.Add(own))
}

// statesLate answers without what has not come in time.
func (s *stalls) statesLate(number int) {
	if number != s.number || number != s.states.question.Number || s.gather.Done() {
		return
	}
	s.momentsSeen(number, nil)
	owed := s.gather.owed
	s.states.mute = maps.Clone(owed)
	for _, slot := range slices.Sorted(maps.Keys(owed)) {
		s.tellIf(s.gather.take(slot, overlay.Waits{Silent: []job.HostIndex{s.j.node.Subtree().Host(slot).Index}}))
	}
}

// states are those of the local ranks of a world, each of one rank.
func (w *world) states(moments map[int]proc.Moment, now time.Time) (list []overlay.State) {
	calls := w.calls()
	for _, r := range w.ranks {
		s := overlay.State{World: w.id, For: overlay.Unknown, CPU: overlay.Unknown, Ranks: []overlay.WaitRun{{First: int(r.Number), Count: 1}}}
		c, spoke := calls[r.Number]
		switch {
		case r.Exited:
			s.Call = r.endText()
		case r.PID == 0:
			s.Call = "not started"
		case !spoke:
			s.Call = "before MPI_Init"
		default:
			s.Call = c.Text
			if !c.Since.IsZero() {
				s.For = overlay.One(max(0, int(now.Sub(c.Since).Round(time.Second)/time.Second)))
			}
		}
		if m, seen := moments[r.PID]; seen && !r.Exited {
			s.CPU = overlay.One(percent(m))
			s.Kernel = kernelText(m, s.CPU.Least)
			if !m.Own {
				s.Process = m.Name
			}
		}
		for _, text := range []*string{&s.Call, &s.Process, &s.Kernel} {
			*text = overlay.CutState(*text)
		}
		list = append(list, s)
	}
	return list
}

// calls are what ranks wait for, or how far they have come, by the first server that
// knows of one that waits, or else by the first that knows it.
func (w *world) calls() map[job.Rank]serve.Call {
	calls := map[job.Rank]serve.Call{}
	for _, s := range w.servers.all {
		for number, c := range s.Calls() {
			if known, again := calls[number]; !again || c.Waits && !known.Waits {
				calls[number] = c
			}
		}
	}
	return calls
}

// endText says how a rank has ended.
func (r *rank) endText() string {
	if r.record.Signal != 0 {
		return fmt.Sprintf("ended by signal %d (%v)", r.record.Signal, syscall.Signal(r.record.Signal))
	}
	return fmt.Sprintf("ended with code %d", r.record.ExitCode)
}

// percent is the share of one processor that was used, in tens: ranks that differ by less
// do the same.
func percent(m proc.Moment) int {
	if m.Took <= 0 {
		return 0
	}
	return int(math.Round(10*float64(m.Used)/float64(m.Took))) * 10
}

// halfBusy is the percentage from which a process that runs is not said to want a
// processor, and one whose main thread sleeps has others that do not.
const halfBusy = 50

// kernelText says in what state a process is.
func kernelText(m proc.Moment, percent int) (text string) {
	state := m.State
	if other := m.Before; (state == 'R' || state == 'S') && (other == 'R' || other == 'S') && (other == 'R') == (percent >= halfBusy) {
		state = other // of what goes to and fro, the state in which it mostly is
	}
	switch state {
	case 'R':
		if percent < halfBusy {
			return "runnable"
		}
		return "running"
	case 'S', 'I':
		if text = "asleep"; percent >= halfBusy {
			text = "its main thread asleep"
		}
	case 'D':
		text = "blocked in the kernel"
	case 'T':
		text = "stopped (kill -CONT has it go on)"
	case 't':
		text = "stopped by a debugger"
	default:
		text = fmt.Sprintf("in state %c", m.State)
	}
	if m.Channel != "" && m.State != 'T' {
		text += " (" + m.Channel + ")"
	}
	return text
}

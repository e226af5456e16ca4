package collective

import "github.com/golaunch/golaunch/network/netsim"

// Operation is the effect of a Program on its vector.
type Operation string

// The operations. Where there is a root, it is Job.Root.
const (
	Allgather     Operation = "allgather"      // all ranks get all parts
	ReduceScatter Operation = "reduce-scatter" // rank i gets the reduction of all parts i
	Broadcast     Operation = "broadcast"      // all get the root's vector
	Scatter       Operation = "scatter"        // rank i gets part i of the root's vector
	Gather        Operation = "gather"         // the root gets all parts
	Reduce        Operation = "reduce"         // the root gets the reduction of all vectors
	Allreduce     Operation = "allreduce"      // all get the reduction of all vectors
)

// perRank says whether Job.Bytes is the size of one rank's part.
func (o Operation) perRank() bool {
	return o == Allgather || o == ReduceScatter || o == Gather || o == Scatter
}

// Transfer is a message and which bytes it has: Size bytes of the operation's
// vector from At on, around the vector's end. The receiver puts them at the same
// place.
type Transfer struct {
	netsim.Message
	At int64
}

// Flow is messages that are sent again and again, independently of the other
// flows of their stage: Repeat times between the same ranks, with other bytes.
type Flow struct {
	Repeat int
	// Append appends the messages of repetition r, 0..Repeat-1.
	Append func(list []Transfer, r int) []Transfer
}

// Stage ends with a barrier. Its flows begin together; a flow's messages wait for those
// of the repetition before.
type Stage struct {
	Name string
	// Combine has receivers reduce messages with their own data.
	Combine bool
	// Restores says that the stage does nothing but restore the order of the data.
	Restores bool
	Flows    []Flow
}

// repeats returns the number of repetitions of the flow that has most.
func (s Stage) repeats() int {
	most := 0
	for _, f := range s.Flows {
		most = max(most, f.Repeat)
	}
	return most
}

// step appends the messages of all flows in repetition r.
func (s Stage) step(list []Transfer, r int) []Transfer {
	for _, f := range s.Flows {
		if r < f.Repeat {
			list = f.Append(list, r)
		}
	}
	return list
}

// Program is an algorithm for one number of ranks and of bytes. It is made by
// Algorithm.Program. One goroutine uses it at a time.
type Program struct {
	Name      string
	Operation Operation
	Ranks     int
	Bytes     int64 // of the operation's vector
	Root      int32
	Stages    []Stage

	unit int64 // size of a part; the last parts may be shorter, or empty
}

// Schedule returns the Program without its bytes. Each repetition is a stage of it.
func (p *Program) Schedule() netsim.Schedule {
	type step struct{ stage, r int }
	var steps []step
	for i, s := range p.Stages {
		for r := range s.repeats() {
			steps = append(steps, step{i, r})
		}
	}
	var list []Transfer
	return netsim.Schedule{
		Name: p.Name, Ranks: p.Ranks, Stages: len(steps),
		Append: func(messages []netsim.Message, s int) []netsim.Message {
			list = p.Stages[steps[s].stage].step(list[:0], steps[s].r)
			for _, t := range list {
				messages = append(messages, t.Message)
			}
			return messages
		},
	}
}

// reversed returns stages backwards, each message the other way: a gather of a scatter,
// or a reduction of an operation that gives each rank each byte once, where combine is
// set.
func reversed(stages []Stage, combine bool) []Stage {
	back := make([]Stage, 0, len(stages))
	for i := len(stages) - 1; i >= 0; i-- {
		s := stages[i]
		flows := make([]Flow, len(s.Flows))
		for k, f := range s.Flows {
			flows[k] = Flow{f.Repeat, func(list []Transfer, r int) []Transfer {
				first := len(list)
				list = f.Append(list, f.Repeat-1-r)
				for j := first; j < len(list); j++ {
					list[j].From, list[j].To = list[j].To, list[j].From
				}
				return list
			}}
		}
		back = append(back, Stage{Name: s.Name, Combine: combine && !s.Restores, Restores: s.Restores, Flows: flows})
	}
	return back
}

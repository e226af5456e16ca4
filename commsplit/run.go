package commsplit

import (
	"cmp"
	"fmt"
	"slices"
)

// Loop calls do(0), ..., do(n-1) in any order, possibly at the same time, and returns
// when all have returned. It gives this package processors.
type Loop func(n int, do func(i int))

// Serial is the Loop of one processor.
func Serial(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// Exchange carries messages between the machines of one address space, round by
// round. Methods are called for different machines at the same time.
type Exchange interface {
	// Send takes the messages of machine i in this round.
	Send(i int, messages []Message)
	// Turn ends the round: messages sent become receivable.
	Turn() error
	// Receive takes the messages with this tag that machine i awaits, in order
	// of their senders. It reports false, and takes nothing, while fewer than
	// count have come.
	Receive(i int, tag Tag, count int) ([]Message, bool)
}

// Run drives machines to their ends: every round, each that has all messages it awaits
// takes one step. It fails if no machine can go on, or if the exchange fails.
func Run(loop Loop, x Exchange, machines []Machine) error {
	boxes := make([]Outbox, len(machines))
	moved := make([]bool, len(machines))
	for round := 0; ; round++ {
		loop(len(machines), func(i int) {
			box := &boxes[i]
			moved[i] = false
			if box.done {
				return
			}
			var in []Message
			if round > 0 {
				var ok bool
				if in, ok = x.Receive(i, box.tag, box.count); !ok {
					return
				}
			}
			machines[i].Step(in, box)
			x.Send(i, box.Messages)
			moved[i] = true
		})
		if err := x.Turn(); err != nil {
			return err
		}
		if i := slices.IndexFunc(boxes, func(b Outbox) bool { return b.err != nil }); i >= 0 {
			return boxes[i].err
		}
		waiting := slices.IndexFunc(boxes, func(b Outbox) bool { return !b.done })
		if waiting < 0 {
			return nil
		}
		if !slices.Contains(moved, true) {
			return fmt.Errorf("commsplit: process %d waits for %d messages with tag %#x that nobody sent",
				waiting, boxes[waiting].count, boxes[waiting].tag)
		}
	}
}

// Memory is the Exchange of machines 0 to len-1 that are the processes of the
// same numbers. Messages are passed on without a copy.
type Memory struct {
	sent    [][]Message // by sender, this round
	waiting [][]Message // by receiver
}

// NewMemory returns an exchange among n processes.
func NewMemory(n int) *Memory {
	return &Memory{sent: make([][]Message, n), waiting: make([][]Message, n)}
}

// Send implements Exchange.
func (x *Memory) Send(i int, messages []Message) { x.sent[i] = messages }

// Turn implements Exchange.
func (x *Memory) Turn() error {
	for i, messages := range x.sent {
		for _, m := range messages {
			if m.To < 0 || m.To >= len(x.waiting) {
				return fmt.Errorf("commsplit: process %d sent to process %d of %d", i, m.To, len(x.waiting))
			}
			x.waiting[m.To] = append(x.waiting[m.To], m)
		}
		x.sent[i] = nil
	}
	return nil
}

// Receive implements Exchange.
func (x *Memory) Receive(i int, tag Tag, count int) ([]Message, bool) {
	if len(x.waiting[i]) < count {
		return nil, false
	}
	other := func(m Message) bool { return m.Tag != tag }
	in := x.waiting[i]
	var rest []Message
	if slices.ContainsFunc(in, other) { // some are ahead
		rest = slices.DeleteFunc(slices.Clone(in), func(m Message) bool { return !other(m) })
		in = slices.DeleteFunc(slices.Clone(in), other)
	}
	if len(in) < count {
		return nil, false
	}
	x.waiting[i] = rest
	slices.SortFunc(in, func(a, b Message) int { return cmp.Compare(a.From, b.From) })
	return in, true
}

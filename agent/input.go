package agent

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stdio"
	"github.com/golaunch/golaunch/tree"
)

// inputArrived is the event of standard input from the parent; an empty body
// is its end.
type inputArrived struct {
	header tree.Header
	body   []byte
}

// input distributes standard input to this node's readers and to the subtrees
// that have some. The launcher never has more than stdio.WindowSize bytes
// under way to the slowest reader, so what is queued for a rank is bounded.
type input struct {
	acks    *stdio.Acks
	local   map[job.Rank]*reader
	byChild map[tree.Slot]int // number in acks
}

// reader is a local rank that gets standard input.
type reader struct {
	number int // in acks
	fd     int // -1 once closed
	queue  [][]byte
	taken  int64
	eof    bool // close when the queue is empty
}

// openInput finds out who below reads standard input, when the launch is known.
func (a *Agent) openInput() error {
	in := &input{local: map[job.Rank]*reader{}, byChild: map[tree.Slot]int{}}
	to := a.launch.StdinRank
	n := 0
	for _, r := range a.ranks {
		if to == overlay.StdinAll || to == r.rank {
			in.local[r.rank] = &reader{number: n, fd: -1}
			n++
		}
	}
	for slot := range a.family.Children {
		if via, ok := a.family.Route(a.hostOf(to)); to == overlay.StdinAll || ok && via == slot {
			in.byChild[slot] = n
			n++
		}
	}
	acks, err := stdio.NewAcks(n, stdio.WindowSize)
	in.acks = acks
	a.input = in
	return err
}

// hostOf is the host of a rank, or job.NoHost.
func (a *Agent) hostOf(r job.Rank) job.HostIndex {
	for _, b := range a.launch.Blocks {
		if r >= b.First && r < b.First+job.Rank(b.Count) {
			return b.Host
		}
	}
	return job.NoHost
}

// takeInput passes standard input on and queues it for local readers.
func (a *Agent) takeInput(e inputArrived) {
	if a.input == nil {
		return // the launch is still to come: the launcher sends input only after it
	}
	switch e.header.To {
	case tree.Everyone:
		for slot := range a.family.Children {
			a.family.Forward(slot, link.Stdio, e.header, e.body)
		}
	case a.self.Index:
	default:
		if slot, ok := a.family.Route(e.header.To); ok {
			a.family.Forward(slot, link.Stdio, e.header, e.body)
		}
		return
	}
	for rank, r := range a.input.local {
		if r.fd < 0 {
			continue
		}
		if len(e.body) == 0 {
			r.eof = true
		} else {
			r.queue = append(r.queue, e.body)
		}
		a.feed(a.byRank[rank])
	}
}

// feed writes what a rank has room for.
func (a *Agent) feed(r *rank) {
	in := a.input.local[r.rank]
	if in == nil || in.fd < 0 {
		return
	}
	waiting := len(in.queue) > 0
	for len(in.queue) > 0 {
		n, err := unix.Write(in.fd, in.queue[0])
		in.taken += int64(max(n, 0))
		switch {
		case err == unix.EAGAIN || err == nil && n < len(in.queue[0]):
			in.queue[0] = in.queue[0][max(n, 0):]
			a.poller.Modify(in.fd, a.tag(r, tagStdin), false, true)
			a.read(in.number, in.taken)
			return
		case err != nil: // it closed its standard input, or is gone
			a.shutInput(r)
			return
		}
		in.queue = in.queue[1:]
	}
	if in.eof {
		a.shutInput(r)
		return
	}
	if waiting {
		a.poller.Modify(in.fd, a.tag(r, tagStdin), false, false)
		a.read(in.number, in.taken)
	}
}

// shutInput closes a rank's standard input: it holds nobody up any more.
func (a *Agent) shutInput(r *rank) {
	in := a.input.local[r.rank]
	if in == nil || in.number < 0 {
		return
	}
	if in.fd >= 0 {
		a.poller.Remove(in.fd)
		unix.Close(in.fd)
		in.fd = -1
	}
	in.queue = nil
	a.read(in.number, stdio.Ended)
	in.number = -1
}

// shutAllInput closes the standard input of every local rank.
func (a *Agent) shutAllInput() {
	for _, r := range a.ranks {
		a.shutInput(r)
	}
}

// inputAck takes a subtree's acknowledgement.
func (a *Agent) inputAck(slot tree.Slot, k overlay.InputAck) error {
	if a.input == nil {
		return errors.New("input acknowledged before the launch")
	}
	if n, ok := a.input.byChild[slot]; ok {
		return a.acked(n, k.Bytes)
	}
	return nil
}

// dropInput stops waiting for a subtree that is lost.
func (a *Agent) dropInput(slot tree.Slot) {
	if a.input != nil {
		if n, ok := a.input.byChild[slot]; ok {
			delete(a.input.byChild, slot)
			a.read(n, stdio.Ended)
		}
	}
}

// read is acked for what this agent has counted itself.
func (a *Agent) read(n int, total int64) {
	if err := a.acked(n, total); err != nil {
		panic(fmt.Sprintf("standard input: %v", err)) // a bug of this package
	}
}

// acked notes how far reader n is, and tells the parent when the slowest has
// moved far enough.
func (a *Agent) acked(n int, total int64) error {
	if err := a.input.acks.Ack(n, total); err != nil {
		return err
	}
	if least, ok := a.input.acks.Take(); ok {
		a.up(link.Control, overlay.KindInputAck, overlay.Encode(overlay.InputAck{Bytes: least}))
	}
	return nil
}

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
	acks     *stdio.Acks
	local    map[*rank]*reader
	byChild  map[tree.Slot]int // number in acks
	received int64
	most     int64 // read by a reader that has ended
}

// reader is a local rank that gets standard input. At first its pipe holds one
// page, so that it shows what the rank has read; later it is faster.
type reader struct {
	number  int // in acks
	fd      int // -1 once closed
	queue   [][]byte
	written int64 // into the pipe
	closely bool  // what is in the pipe does not count as read yet
	waiting bool  // for room in the pipe
	eof     bool  // close when the queue is empty
}

const (
	closelyUntil = 64 << 10 // bytes after which a reader has shown that it reads
	widePipe     = 64 << 10 // its pipe's size from then on
)

// taken is how many bytes the rank has read, as far as that can be told.
func (r *reader) taken() int64 {
	unread, err := unix.Unread(r.fd)
	if err != nil {
		return r.written
	}
	return r.written - int64(unread)
}

// openReader takes a rank's pipe in.
func (a *Agent) openReader(r *rank, fd int) {
	in := a.input.local[r]
	in.fd = fd
	in.closely = unix.SetPipeSize(fd, 1) == nil
	a.holdFD(fd, r, true)
	a.poller.AddWrite(fd, uint64(fd))
	a.poller.Modify(fd, uint64(fd), false, false) // nothing to write yet
}

// openInput finds out who below reads standard input, when the launch is known.
func (a *Agent) openInput(w *world) error {
	in := &input{local: map[*rank]*reader{}, byChild: map[tree.Slot]int{}}
	to := a.launch.StdinRank
	n := 0
	for _, r := range w.ranks {
		if to == overlay.StdinAll || to == r.rank {
			in.local[r] = &reader{number: n, fd: -1}
			n++
		}
	}
	for _, slot := range w.peers {
		if via, ok := a.family.Route(w.hostOf(to)); to == overlay.StdinAll || ok && via == slot {
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
func (w *world) hostOf(r job.Rank) job.HostIndex {
	for _, b := range w.Blocks {
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
	a.input.received += int64(len(e.body))
	switch e.header.To {
	case tree.Everyone:
		for slot := range a.input.byChild {
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
		a.feed(rank)
	}
}

// feed writes what a rank has room for, and says what it has read.
func (a *Agent) feed(r *rank) {
	in := a.input.local[r]
	if in == nil || in.fd < 0 {
		return
	}
	for room := true; room && len(in.queue) > 0; {
		n, err := unix.Write(in.fd, in.queue[0])
		switch {
		case err == unix.EAGAIN:
			n = 0
		case err != nil: // it closed its standard input, or is gone
			a.shutInput(r)
			return
		}
		in.written += int64(n)
		if room = n == len(in.queue[0]); room {
			in.queue = in.queue[1:]
		} else {
			in.queue[0] = in.queue[0][n:]
		}
	}
	read := in.written
	if in.closely {
		if read = in.taken(); read >= closelyUntil {
			in.closely = false
			_ = unix.SetPipeSize(in.fd, widePipe) // else it stays slow
		}
	}
	waiting := len(in.queue) > 0 || read < in.written
	if in.eof && !waiting {
		a.input.most = max(a.input.most, read)
		a.shutInput(r)
		return
	}
	if waiting != in.waiting {
		in.waiting = waiting
		a.poller.Modify(in.fd, uint64(in.fd), false, waiting)
	}
	a.read(in.number, read)
}

// shutInput closes a rank's standard input: it holds nobody up any more.
func (a *Agent) shutInput(r *rank) {
	if a.input == nil {
		return
	}
	in := a.input.local[r]
	if in == nil || in.number < 0 {
		return
	}
	if in.fd >= 0 {
		a.input.most = max(a.input.most, in.taken())
		a.closeFD(in.fd)
		in.fd = -1
	}
	in.queue = nil
	a.read(in.number, stdio.Ended)
	in.number = -1
}

// inputAck takes a subtree's acknowledgement.
func (a *Agent) inputAck(slot tree.Slot, k overlay.InputAck) error {
	if a.input == nil {
		return errors.New("input acknowledged before the launch")
	}
	if n, ok := a.input.byChild[slot]; ok {
		a.input.most = max(a.input.most, k.Read)
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
	if least, ok := a.input.acks.Take(a.input.received); ok {
		a.up(link.Control, overlay.KindInputAck, overlay.Encode(overlay.InputAck{Bytes: least, Read: a.input.most}))
	}
	return nil
}

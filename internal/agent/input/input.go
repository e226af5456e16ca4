// Package input distributes standard input among the ranks of a node that read it,
// and tells how far the slowest reader here and below is. Pure: the pipes to ranks
// and the links to children are somebody else's.
package input

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/tree"
)

// Pipe leads to a rank's standard input.
type Pipe interface {
	// Write writes what there is room for, and returns how much that was. An error
	// means that nobody reads any more.
	Write(p []byte) (int, error)
	// Unread is how many of the bytes written the rank has not read.
	Unread() (int, error)
	// Resize has the pipe hold size bytes, or a page if that is more.
	Resize(size int) error
	// Await has Feed called when there is room, or not any more.
	Await(room bool)
	// Close closes it. It is not used afterwards.
	Close()
}

// Input is standard input at one node. The launcher never has more than
// stdio.WindowSize bytes under way to the slowest reader, so what is queued for a
// rank is bounded.
type Input struct {
	tell     func(least, most int64)
	acks     *stdio.Acks
	local    map[job.Rank]*reader
	children map[tree.Slot]int // numbers in acks
	received int64
	most     int64 // read by a reader that has ended
}

// reader is a local rank that gets standard input. At first its pipe holds one
// page, so that it shows what the rank has read; later it is faster.
type reader struct {
	number  int  // in acks; -1 once it reads no more
	pipe    Pipe // nil before Open, and once closed
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

// New returns the input of a node with some readers, and children below which there
// are some. Tell is told, now and then, how much the slowest of all has read
// (stdio.Ended if none reads any more), and how much one that has ended has.
func New(readers []job.Rank, children []tree.Slot, tell func(least, most int64)) (*Input, error) {
	in := &Input{tell: tell, local: map[job.Rank]*reader{}, children: map[tree.Slot]int{}}
	n := 0
	for _, r := range readers {
		in.local[r] = &reader{number: n}
		n++
	}
	for _, slot := range children {
		in.children[slot] = n
		n++
	}
	var err error
	in.acks, err = stdio.NewAcks(n, stdio.WindowSize)
	return in, err
}

// Readers is how many ranks of this node get standard input, or got it.
func (in *Input) Readers() int { return len(in.local) }

// Children calls to with each child below which somebody reads.
func (in *Input) Children(to func(tree.Slot)) {
	for slot := range in.children {
		to(slot)
	}
}

// Open takes the pipe of a reader, which belongs to the input from now on.
func (in *Input) Open(r job.Rank, p Pipe) {
	x := in.local[r]
	x.pipe = p
	x.closely = p.Resize(1) == nil
}

// Receive counts what came from the parent, for whomever.
func (in *Input) Receive(n int) { in.received += int64(n) }

// Take queues what was received for the readers here; nothing is the end. It keeps
// body.
func (in *Input) Take(body []byte) {
	for _, x := range in.local {
		if x.pipe == nil {
			continue
		}
		if len(body) == 0 {
			x.eof = true
		} else {
			x.queue = append(x.queue, body)
		}
		in.feed(x)
	}
}

// Feed writes what a rank has room for, and notes what it has read.
func (in *Input) Feed(r job.Rank) {
	if x := in.local[r]; x != nil && x.pipe != nil {
		in.feed(x)
	}
}

func (in *Input) feed(x *reader) {
	for room := true; room && len(x.queue) > 0; {
		n, err := x.pipe.Write(x.queue[0])
		if err != nil { // it closed its standard input, or is gone
			in.shut(x)
			return
		}
		x.written += int64(n)
		if room = n == len(x.queue[0]); room {
			x.queue = x.queue[1:]
		} else {
			x.queue[0] = x.queue[0][n:]
		}
	}
	read := x.written
	if x.closely {
		if read = x.taken(); read >= closelyUntil {
			x.closely = false
			_ = x.pipe.Resize(widePipe) // else it stays slow
		}
	}
	waiting := len(x.queue) > 0 || read < x.written
	if x.eof && !waiting {
		in.most = max(in.most, read)
		in.shut(x)
		return
	}
	if waiting != x.waiting {
		x.waiting = waiting
		x.pipe.Await(waiting)
	}
	in.read(x.number, read)
}

// taken is how many bytes the rank has read, as far as that can be told.
func (x *reader) taken() int64 {
	unread, err := x.pipe.Unread()
	if err != nil {
		return x.written
	}
	return x.written - int64(unread)
}

// Shut closes a rank's standard input, if it has one: it holds nobody up any more.
func (in *Input) Shut(r job.Rank) {
	if x := in.local[r]; x != nil && x.number >= 0 {
		in.shut(x)
	}
}

func (in *Input) shut(x *reader) {
	if x.pipe != nil {
		in.most = max(in.most, x.taken())
		x.pipe.Close()
		x.pipe = nil
	}
	x.queue = nil
	in.read(x.number, stdio.Ended)
	x.number = -1
}

// Acked takes what a child tells of the readers below it. An error means that it
// cannot be.
func (in *Input) Acked(slot tree.Slot, least, most int64) error {
	if most > in.received {
		return fmt.Errorf("%d bytes of input were read of %d", most, in.received)
	}
	if least > in.received && least != stdio.Ended {
		return fmt.Errorf("%d bytes of input were acknowledged of %d", least, in.received)
	}
	n, ok := in.children[slot]
	if !ok {
		return nil
	}
	in.most = max(in.most, most)
	return in.acked(n, least)
}

// Drop stops waiting for a child that is lost.
func (in *Input) Drop(slot tree.Slot) {
	if n, ok := in.children[slot]; ok {
		delete(in.children, slot)
		in.read(n, stdio.Ended)
	}
}

// read is acked for what this node has counted itself.
func (in *Input) read(n int, total int64) {
	if err := in.acked(n, total); err != nil {
		panic(fmt.Sprintf("standard input: %v", err)) // a bug of this package
	}
}

// acked notes how far reader n is, and tells when the slowest has moved far enough.
func (in *Input) acked(n int, total int64) error {
	if err := in.acks.Ack(n, total); err != nil {
		return err
	}
	if least, ok := in.acks.Take(in.received); ok {
		in.tell(least, in.most)
	}
	return nil
}

// Package output moves what ranks of a job write towards the launcher: one goroutine reads
// the pipes of this node's ranks in turn, the children's links deliver theirs, and
// one goroutine sends. All of it is held up when the parent takes no more; nothing
// else of the agent is.
//
// Who may still have output of which world is in owed.go, what goes up next in
// queue.go, both pure; the pipes are in pipes.go.
package output

import (
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Output is that of one job on a node and below it. Its methods may be called from any
// goroutine; but for FromChild and Close, none waits for the parent.
type Output struct {
	send   func(tree.Header, []byte) error
	poller *unix.Poller
	idle   func()

	mu      sync.Mutex
	changed sync.Cond
	queue   queue
	owed    owed
	over    bool     // nothing will be sent any more
	cut     []uint64 // pipes that are to be read out and closed
	closing bool     // the reading goroutine is to end
	pipes   map[uint64]source
	lastTag uint64
	timed   bool      // chunks say when they were read
	sending bool      // the parent is to take some
	sent    time.Time // when it has taken some last

	tasks sync.WaitGroup
}

// New returns the output of a job, which goes up by send, which may block, from a goroutine
// of its own; an error ends it. Idle is told, from the reading goroutine, whenever nothing
// on this node can write to a rank's output any more. Close releases it.
func New(n job.Number, send func(tree.Header, []byte) error, idle func()) (*Output, error) {
	poller, err := unix.NewPoller()
	if err != nil {
		return nil, err
	}
	o := &Output{send: send, poller: poller, idle: idle, pipes: map[uint64]source{}, queue: queue{job: n}, owed: newOwed()}
	o.changed.L = &o.mu
	o.tasks.Go(o.read)
	o.tasks.Go(o.sendAll)
	return o, nil
}

// Time has chunks say from now on when they were read.
func (o *Output) Time() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timed = true
}

// now returns the time for a chunk; o.mu is held.
func (o *Output) now() (at time.Time) {
	if o.timed {
		at = time.Now()
	}
	return at
}

// Open begins a world, in which some children and this node take part.
func (o *Output) Open(world int, children []tree.Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owed.open(world, children)
}

// FromChild takes a message of a child. It waits while there is no room.
func (o *Output) FromChild(slot tree.Slot, h tree.Header, body []byte) {
	switch h.Kind {
	case overlay.KindOutput:
		o.enqueue(body)
	case overlay.KindDrained:
		o.Drain(int(h.World), slot)
	}
}

// Drain notes that a child has no more output of a world, or is lost.
func (o *Output) Drain(world int, slot tree.Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owed.drain(world, slot) {
		o.drained(world)
	}
}

// drained sends the word that a world has no more output, after everything queued.
// o.mu is held.
func (o *Output) drained(worlds ...int) {
	for _, w := range worlds {
		o.queue.putDrained(w)
		o.changed.Broadcast()
	}
}

// Add hands a rank's pipe over; the descriptor belongs to the output from now on.
func (o *Output) Add(rank job.RankID, stream stdio.Stream, fd int) error {
	o.mu.Lock()
	o.lastTag++ // a number of a descriptor may come again before its last event
	tag := o.lastTag
	o.pipes[tag] = source{rank: rank, stream: stream, fd: fd, tag: tag}
	o.owed.pipe(rank.World, 1)
	o.mu.Unlock()
	return o.poller.Add(fd, tag)
}

// Say adds to a rank's output what it says by other ways than its pipes. It does nothing
// and is false where there is no room, or the output of the world is over.
func (o *Output) Say(rank job.RankID, stream stdio.Stream, text []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over || o.queue.full() || len(text) > frame || !o.owed.has(rank.World) {
		return false
	}
	o.queue.put(overlay.Chunk{Rank: rank, Stream: stream, At: o.now(), Data: text}.AppendTo(nil))
	o.changed.Broadcast()
	return true
}

// Complete says that no more pipes of a world will be added.
func (o *Output) Complete(world int) {
	o.mu.Lock()
	o.owed.complete(world)
	o.mu.Unlock()
	o.poller.Wake()
}

// settle queues the word for each world that nobody has output of any more, after
// what its pipes brought.
func (o *Output) settle() {
	o.mu.Lock()
	over, ripe := o.owed.settle()
	o.drained(over...)
	quiet := o.owed.quiet()
	o.mu.Unlock()
	if ripe && quiet {
		o.idle()
	}
}

// Quiet reports whether nothing on this node can write to a rank's output.
func (o *Output) Quiet() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.owed.quiet()
}

// CutOff says that whoever could write to the local pipes of some worlds is dead:
// what a process outside the job still holds open is not waited for.
func (o *Output) CutOff(dead func(world int) bool) {
	o.mu.Lock()
	for tag, src := range o.pipes {
		if dead(src.rank.World) {
			o.cut = append(o.cut, tag)
		}
	}
	o.mu.Unlock()
	o.poller.Wake()
}

// enqueue waits until there is room, then queues output records.
func (o *Output) enqueue(records []byte) {
	if len(records) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.queue.full() && !o.over {
		o.changed.Wait()
	}
	if !o.over {
		o.queue.put(records)
		o.changed.Broadcast()
	}
}

// sendAll ends when Abandon says so, or the parent is gone.
func (o *Output) sendAll() {
	defer func() {
		o.mu.Lock()
		o.sending = false
		o.mu.Unlock()
	}()
	for {
		o.mu.Lock()
		for len(o.queue.pieces) == 0 && !o.over {
			o.changed.Wait()
		}
		batch, over := o.queue.take(), o.over
		o.sending = true
		o.changed.Broadcast()
		o.mu.Unlock()
		if over {
			return
		}
		for len(batch.pieces) > 0 {
			if o.send(batch.next()) != nil {
				o.Abandon()
				return
			}
		}
		o.mu.Lock()
		o.sending, o.sent = false, time.Now()
		o.mu.Unlock()
	}
}

// stillMoves is for how long after the last output more is expected.
const stillMoves = 500 * time.Millisecond

// Moving reports whether output goes up, or waits for the parent to take it.
func (o *Output) Moving() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sending || time.Since(o.sent) < stillMoves
}

// Owes reports whether a child may have more output of some world.
func (o *Output) Owes(slot tree.Slot) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.owed.owes(slot)
}

// Abandon drops everything queued and to come, so that nobody waits for a parent
// that is gone.
func (o *Output) Abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.queue.take()
	o.changed.Broadcast()
}

// Close ends both goroutines and closes what pipes are left. It waits for a message on its
// way to the parent, which the end of the link ends.
func (o *Output) Close() {
	o.Abandon()
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	o.poller.Wake()
	o.tasks.Wait()
	o.poller.Close()
	for _, src := range o.pipes {
		unix.Close(src.fd)
	}
}

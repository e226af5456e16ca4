package agent

import (
	"maps"
	"slices"
	"sync"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stdio"
	"github.com/golaunch/golaunch/tree"
)

const (
	outputBound = 1 << 20  // bytes of output an agent holds on their way up
	outputFrame = 64 << 10 // bytes of output in one message at most
	outputRead  = 16 << 10 // bytes taken from one pipe at a time: the round-robin quantum
)

// output moves what ranks write towards the launcher: one goroutine reads the
// pipes of this node's ranks in turn, the children's edges deliver theirs, and
// one goroutine sends. All of it is held up when the parent takes no more;
// nothing else of the agent is.
type output struct {
	parent *overlay.Edge
	poller *unix.Poller
	idle   func() // told, from the reading goroutine, when the last local pipe closed

	mu      sync.Mutex
	changed sync.Cond
	queue   [][]byte
	bytes   int
	drained tree.Gather[struct{}]
	over    bool // nothing will be sent any more
	forced  bool // pipes that are still open are read out and closed
	closing bool // the reading goroutine is to end
	local   map[uint64]source
	fed     bool // every local pipe was added

	tasks sync.WaitGroup
}

// source is one pipe of a rank.
type source struct {
	rank    job.Rank
	stream  stdio.Stream
	fd      int
	midline bool // the last byte was not a newline
}

func newOutput(parent *overlay.Edge, idle func()) (*output, error) {
	poller, err := unix.NewPoller()
	if err != nil {
		return nil, err
	}
	o := &output{parent: parent, poller: poller, idle: idle, local: map[uint64]source{}}
	o.changed.L = &o.mu
	o.drained.Merge = func(*struct{}, struct{}) {}
	o.drained.Expect(1) // this node's own
	o.tasks.Go(o.read)
	o.tasks.Go(o.send)
	return o, nil
}

// expect says that one more child will send output and then KindDrained.
func (o *output) expect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drained.Expect(1)
}

// child is the sink of a child's edge.
func (o *output) child(h tree.Header, body []byte) {
	switch h.Kind {
	case overlay.KindOutput:
		o.enqueue(body)
	case overlay.KindDrained:
		o.drain()
	}
}

// drain counts a subtree, or this node, as having no more output. The word goes
// up after everything queued.
func (o *output) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.drained.Skip() {
		o.changed.Broadcast()
	}
}

// add hands a rank's pipe over; the descriptor belongs to output from now on.
func (o *output) add(rank job.Rank, stream stdio.Stream, fd int) error {
	o.mu.Lock()
	tag := uint64(fd)
	o.local[tag] = source{rank: rank, stream: stream, fd: fd}
	o.mu.Unlock()
	return o.poller.Add(fd, tag)
}

// complete says that no more pipes will be added. When the last of them
// closes, idle is called.
func (o *output) complete() {
	o.mu.Lock()
	o.fed = true
	none := len(o.local) == 0
	o.mu.Unlock()
	if none {
		o.idle()
	}
}

// enqueue waits until there is room, then queues output records.
func (o *output) enqueue(records []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes >= outputBound && !o.over {
		o.changed.Wait()
	}
	if o.over {
		return
	}
	o.queue = append(o.queue, records)
	o.bytes += len(records)
	o.changed.Broadcast()
}

// read ends when close says so.
func (o *output) read() {
	ready := make([]unix.Ready, 64)
	buf := make([]byte, outputRead)
	var records []byte
	for {
		n, err := o.poller.Wait(ready, -1)
		o.mu.Lock()
		closing, forced := o.closing, o.forced
		o.mu.Unlock()
		if err != nil || closing {
			return
		}
		if forced {
			o.cutOff(buf)
			continue
		}
		for _, r := range ready[:n] {
			records = o.take(r.Tag, buf, records)
			if len(records) >= outputFrame-outputRead {
				o.enqueue(records)
				records = nil
			}
		}
		if len(records) > 0 {
			o.enqueue(records)
			records = nil
		}
	}
}

// finish says that whoever could write to the local pipes is dead: what a
// process outside the job still holds open is not waited for.
func (o *output) finish() {
	o.mu.Lock()
	o.forced = true
	o.mu.Unlock()
	o.poller.Wake()
}

// cutOff reads out and closes every local pipe.
func (o *output) cutOff(buf []byte) {
	o.mu.Lock()
	tags := slices.Collect(maps.Keys(o.local))
	o.mu.Unlock()
	for _, tag := range tags {
		for {
			records := o.take(tag, buf, nil)
			if len(records) == 0 {
				break // closed, or nothing to read
			}
			o.enqueue(records)
		}
		o.mu.Lock()
		src, open := o.local[tag]
		o.mu.Unlock()
		if open {
			o.enqueue(o.shut(src, nil))
		}
	}
}

// take reads once from a pipe and appends what came to records.
func (o *output) take(tag uint64, buf, records []byte) []byte {
	o.mu.Lock()
	src, known := o.local[tag]
	o.mu.Unlock()
	if !known {
		return records
	}
	n, err := unix.Read(src.fd, buf)
	if err == unix.EAGAIN {
		return records
	}
	if n > 0 {
		midline := buf[n-1] != '\n'
		if midline != src.midline {
			src.midline = midline
			o.mu.Lock()
			o.local[tag] = src
			o.mu.Unlock()
		}
		return overlay.AppendRecord(records, src.rank, src.stream, buf[:n])
	}
	return o.shut(src, records) // end of file; an error on a pipe means the same
}

// shut closes a pipe. Only an unfinished line needs the launcher's attention.
func (o *output) shut(src source, records []byte) []byte {
	if src.midline {
		records = overlay.AppendRecord(records, src.rank, src.stream, nil)
	}
	o.poller.Remove(src.fd)
	o.mu.Lock()
	delete(o.local, uint64(src.fd)) // before the number can be another pipe's
	last := o.fed && len(o.local) == 0
	o.mu.Unlock()
	unix.Close(src.fd)
	if last {
		if len(records) > 0 {
			o.enqueue(records)
			records = nil
		}
		o.idle()
	}
	return records
}

// send ends once everything below is drained and sent, or the parent is gone.
func (o *output) send() {
	up := func(kind tree.Kind, body []byte) error {
		return o.parent.SendNow(link.Stdio, tree.Header{Kind: kind, To: tree.Launcher, From: tree.Launcher}, body)
	}
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.over && !o.drained.Done() {
			o.changed.Wait()
		}
		batch, over := o.queue, o.over
		o.queue, o.bytes = nil, 0
		o.changed.Broadcast()
		o.mu.Unlock()
		if over {
			return
		}
		if len(batch) == 0 {
			up(overlay.KindDrained, nil) // a lost parent ends the agent anyhow
			return
		}
		for len(batch) > 0 {
			body := batch[0]
			batch = batch[1:]
			for len(batch) > 0 && len(body)+len(batch[0]) <= outputFrame {
				body = append(body, batch[0]...)
				batch = batch[1:]
			}
			if up(overlay.KindOutput, body) != nil {
				o.abandon()
				return
			}
		}
	}
}

// abandon drops everything queued and to come, so that nobody waits for a
// parent that is gone.
func (o *output) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.queue = nil
	o.changed.Broadcast()
}

// close ends both goroutines and closes what pipes are left.
func (o *output) close() {
	o.abandon()
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	o.poller.Wake()
	o.tasks.Wait()
	o.poller.Close()
	for _, src := range o.local {
		unix.Close(src.fd)
	}
}

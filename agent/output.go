package agent

import (
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
	idle   func() // told, from the reading goroutine, whenever the last local pipe closed

	mu      sync.Mutex
	changed sync.Cond
	queue   []piece
	bytes   int
	worlds  map[int]*outflow
	newest  int          // world that was opened; -1 before the first
	early   []earlyDrain // of children that were faster than open
	over    bool         // nothing will be sent any more
	cut     []uint64     // pipes that are to be read out and closed
	closing bool         // the reading goroutine is to end
	local   map[uint64]source
	lastTag uint64
	unfed   int  // worlds of which local pipes may still come
	ripe    bool // some world may have no local pipe any more

	tasks sync.WaitGroup
}

// piece is what goes up next: output records, or the word that a world has no
// more.
type piece struct {
	records []byte
	drained bool
	world   int
}

// outflow is the output of one world: of this node, and of the children that
// take part in it.
type outflow struct {
	owed  map[tree.Slot]bool // children that may have more
	local int                // pipes open
	fed   bool               // every local pipe was added
	own   bool               // this node has no more
}

// earlyDrain is a child's word that it has no more output of a world that was
// not opened here yet.
type earlyDrain struct {
	world int
	slot  tree.Slot
}

// source is one pipe of a rank.
type source struct {
	rank    job.RankID
	stream  stdio.Stream
	fd      int
	tag     uint64
	midline bool // the last byte was not a newline
}

func newOutput(parent *overlay.Edge, idle func()) (*output, error) {
	poller, err := unix.NewPoller()
	if err != nil {
		return nil, err
	}
	o := &output{parent: parent, poller: poller, idle: idle, local: map[uint64]source{}, worlds: map[int]*outflow{}, newest: -1}
	o.changed.L = &o.mu
	o.tasks.Go(o.read)
	o.tasks.Go(o.send)
	return o, nil
}

// open begins a world, in which some children and this node take part.
func (o *output) open(world int, children []tree.Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := &outflow{owed: map[tree.Slot]bool{}}
	for _, slot := range children {
		if !slices.Contains(o.early, earlyDrain{world, slot}) {
			w.owed[slot] = true
		}
	}
	o.early = slices.DeleteFunc(o.early, func(d earlyDrain) bool { return d.world <= world })
	o.worlds[world], o.newest = w, world
	o.unfed++
}

// child makes the sink of a child's edge.
func (o *output) child(slot tree.Slot) overlay.Sink {
	return func(h tree.Header, body []byte) {
		switch h.Kind {
		case overlay.KindOutput:
			o.enqueue(body)
		case overlay.KindDrained:
			o.drain(int(h.World), slot)
		}
	}
}

// drain notes that a child has no more output of a world, or is lost.
func (o *output) drain(world int, slot tree.Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := (earlyDrain{world, slot}); world > o.newest {
		if !slices.Contains(o.early, d) { // a child at fault says it again and again
			o.early = append(o.early, d)
		}
	} else if w := o.worlds[world]; w != nil {
		delete(w.owed, slot)
		o.drainedIf(world, w)
	}
}

// drainedIf sends the word that a world has no more output, after everything
// queued, if neither this node nor a child has any. o.mu is held.
func (o *output) drainedIf(world int, w *outflow) {
	if w.own && len(w.owed) == 0 {
		delete(o.worlds, world)
		o.queue = append(o.queue, piece{drained: true, world: world})
		o.changed.Broadcast()
	}
}

// add hands a rank's pipe over; the descriptor belongs to output from now on.
func (o *output) add(rank job.RankID, stream stdio.Stream, fd int) error {
	o.mu.Lock()
	o.lastTag++ // a number of a descriptor may come again before its last event
	tag := o.lastTag
	o.local[tag] = source{rank: rank, stream: stream, fd: fd, tag: tag}
	if w := o.worlds[rank.World]; w != nil { // else complete was said: the warden is lost
		w.local++
	}
	o.mu.Unlock()
	return o.poller.Add(fd, tag)
}

// complete says that no more pipes of a world will be added.
func (o *output) complete(world int) {
	o.mu.Lock()
	w := o.worlds[world]
	if w == nil || w.fed {
		o.mu.Unlock()
		return
	}
	w.fed, o.ripe = true, true
	o.unfed--
	o.mu.Unlock()
	o.poller.Wake()
}

// settle counts this node out of worlds whose local pipes are all closed. What
// they brought is queued.
func (o *output) settle() {
	o.mu.Lock()
	ripe := o.ripe
	if o.ripe = false; ripe {
		for id, w := range o.worlds {
			if w.fed && w.local == 0 && !w.own {
				w.own = true
				o.drainedIf(id, w)
			}
		}
	}
	o.mu.Unlock()
	if ripe && o.quiet() {
		o.idle()
	}
}

// quiet reports whether nothing on this node can write to a rank's output.
func (o *output) quiet() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unfed == 0 && len(o.local) == 0
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
	o.queue = append(o.queue, piece{records: records})
	o.bytes += len(records)
	o.changed.Broadcast()
}

// read ends when close says so.
func (o *output) read() {
	ready := make([]unix.Ready, 64)
	buf := make([]byte, outputRead)
	var records []byte
	for {
		n, err := o.poller.Park(ready)
		o.mu.Lock()
		closing, cut := o.closing, o.cut
		o.cut = nil
		o.mu.Unlock()
		if err != nil || closing {
			return
		}
		o.cutOff(cut, buf)
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
		o.settle()
	}
}

// finish says that whoever could write to the local pipes of some worlds is
// dead: what a process outside the job still holds open is not waited for.
func (o *output) finish(dead func(world int) bool) {
	o.mu.Lock()
	for tag, src := range o.local {
		if dead(src.rank.World) {
			o.cut = append(o.cut, tag)
		}
	}
	o.mu.Unlock()
	o.poller.Wake()
}

// cutOff reads out and closes pipes: what is in them by now, however much a
// process outside the job goes on to write.
func (o *output) cutOff(tags []uint64, buf []byte) {
	for _, tag := range tags {
		o.mu.Lock()
		src, open := o.local[tag]
		o.mu.Unlock()
		if !open {
			continue
		}
		left, err := unix.Unread(src.fd)
		for err == nil && left > 0 {
			records := o.take(tag, buf[:min(left, len(buf))], nil)
			if len(records) == 0 {
				break
			}
			o.enqueue(records)
			left -= len(buf)
		}
		o.mu.Lock()
		src, open = o.local[tag] // take knows how its last line stands
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
	unix.Close(src.fd)
	o.mu.Lock()
	delete(o.local, src.tag)
	if w := o.worlds[src.rank.World]; w != nil {
		w.local--
	}
	o.ripe = true
	o.mu.Unlock()
	return records
}

// send ends when abandon says so, or the parent is gone.
func (o *output) send() {
	up := func(kind tree.Kind, world int, body []byte) error {
		return o.parent.SendNow(link.Stdio, tree.Header{Kind: kind, World: uint16(world), To: tree.Launcher, From: tree.Launcher}, body)
	}
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.over {
			o.changed.Wait()
		}
		batch, over := o.queue, o.over
		o.queue, o.bytes = nil, 0
		o.changed.Broadcast()
		o.mu.Unlock()
		if over {
			return
		}
		for len(batch) > 0 {
			first, kind := batch[0], overlay.KindOutput
			if first.drained {
				kind = overlay.KindDrained
			}
			body := first.records
			batch = batch[1:]
			for !first.drained && len(batch) > 0 && !batch[0].drained && len(body)+len(batch[0].records) <= outputFrame {
				body = append(body, batch[0].records...)
				batch = batch[1:]
			}
			if up(kind, first.world, body) != nil {
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

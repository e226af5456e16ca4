package scale

import (
	"container/heap"
	"time"

	"github.com/golaunch/golaunch/integration/internal/event"
)

// cores are processors that processes share. Without a slice every task runs to its
// end, in the order in which they come. With one they are shared as Linux does (EEVDF):
// the process with the least time so far is next, for a slice at most; a new one counts
// as having had the least time of those that wait, and one that slept is owed up to a
// slice, so that a message is not behind everybody's work.
type cores struct {
	queue   *event.Queue
	free    int
	slice   time.Duration
	waiting fifo  // without a slice
	ready   tasks // with one
	least   time.Duration
	seq     int
}

type task struct {
	left time.Duration
	then func()
	had  time.Duration // of the processor, in terms of what others have had
	seq  int
}

// run has a new process do a task of length d, and calls then.
func (c *cores) run(d time.Duration, then func()) {
	c.add(task{left: d, then: then, had: c.least})
}

// wake has a process that slept do a task. had is its processor time so far; then gets
// the time with the task.
func (c *cores) wake(had, d time.Duration, then func(had time.Duration)) {
	had = max(had, c.least-c.slice)
	c.add(task{left: d, then: func() { then(had + d) }, had: had})
}

func (c *cores) add(t task) {
	if c.slice > 0 {
		c.wait(t)
	} else {
		c.waiting.put(t)
	}
	c.dispatch()
}

// wait has a task wait with the others, behind those that have had as much.
func (c *cores) wait(t task) {
	c.seq++
	t.seq = c.seq
	heap.Push(&c.ready, t)
}

// dispatch gives free processors to waiting tasks.
func (c *cores) dispatch() {
	for c.free > 0 && len(c.ready) > 0 {
		c.begin(heap.Pop(&c.ready).(task))
	}
	for c.free > 0 && c.waiting.any() {
		c.begin(c.waiting.take())
	}
}

// begin gives a task a processor that is free. The task's consequences come before
// others get that, as a thread that has more to do goes on.
func (c *cores) begin(t task) {
	c.free--
	c.least = max(c.least, t.had)
	step := t.left
	if c.slice > 0 {
		step = min(step, c.slice)
	}
	c.queue.After(step, func() {
		t.had += step
		if t.left -= step; t.left > 0 {
			c.wait(t)
		} else {
			t.then()
		}
		c.free++
		c.dispatch()
	})
}

// tasks is a heap of those that wait: the one with the least time is first.
type tasks []task

// Len implements heap.Interface.
func (t tasks) Len() int { return len(t) }

// Less implements heap.Interface.
func (t tasks) Less(i, j int) bool {
	return t[i].had < t[j].had || t[i].had == t[j].had && t[i].seq < t[j].seq
}

// Swap implements heap.Interface.
func (t tasks) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *tasks) Push(x any) { *t = append(*t, x.(task)) }

// Pop implements heap.Interface.
func (t *tasks) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = task{} // lets go of the memory of then
	*t = (*t)[:last]
	return x
}

// fifo is a queue of tasks.
type fifo []task

func (f *fifo) any() bool { return len(*f) > 0 }

func (f *fifo) put(t task) { *f = append(*f, t) }

func (f *fifo) take() task {
	first := (*f)[0]
	(*f)[0] = task{}
	if *f = (*f)[1:]; len(*f) == 0 {
		*f = nil
	}
	return first
}

// thread is a process that does one thing at a time, in order of arrival: an agent's
// event loop, a warden, the sshd of a link.
type thread struct {
	on    *cores
	tasks fifo
	busy  bool
	had   time.Duration
}

func (t *thread) run(d time.Duration, then func()) {
	t.tasks.put(task{left: d, then: then})
	if !t.busy {
		t.next()
	}
}

func (t *thread) next() {
	if t.busy = t.tasks.any(); !t.busy {
		return
	}
	first := t.tasks.take()
	t.on.wake(t.had, first.left, func(had time.Duration) {
		t.had = had
		first.then()
		t.next()
	})
}

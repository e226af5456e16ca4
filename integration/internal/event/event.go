// Package event is the clock of a discrete-event model: a queue of actions in the order
// of their times. The same program gives the same run.
package event

import "time"

// Queue holds the actions to come. The zero value is an empty one at time 0. One
// goroutine uses it.
type Queue struct {
	now  time.Duration
	seq  uint64
	heap []event
}

type event struct {
	at  time.Duration
	seq uint64 // of two at one time the one first made
	do  func()
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// Now is the time of the model.
func (q *Queue) Now() time.Duration { return q.now }

// After does something so much later than now; actions of one time happen in the order
// of the calls. A negative d counts as 0.
func (q *Queue) After(d time.Duration, do func()) {
	q.seq++
	q.heap = append(q.heap, event{at: q.now + max(d, 0), seq: q.seq, do: do})
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.heap[i].before(&q.heap[parent]) {
			break
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

// Step lets the next thing happen, and reports whether there was one.
func (q *Queue) Step() bool {
	if len(q.heap) == 0 {
		return false
	}
	next := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = event{} // lets go of what do holds
	q.heap = q.heap[:last]
	q.sink()
	q.now = next.at
	next.do()
	return true
}

// sink brings the first of the heap where it belongs.
func (q *Queue) sink() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.heap); child++ {
			if q.heap[child].before(&q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}

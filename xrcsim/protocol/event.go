package protocol

import (
	"container/heap"
	"time"

	"github.com/golaunch/golaunch/network/topology"
)

// event is something that is to happen.
type event struct {
	at    time.Duration
	order int // of two at one time the one first made
	do    func()
}

// events is a heap, the next event first.
type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, k int) { e[i], e[k] = e[k], e[i] }
func (e events) Less(i, k int) bool {
	return e[i].at < e[k].at || e[i].at == e[k].at && e[i].order < e[k].order
}

// Push is for package heap.
func (e *events) Push(x any) { *e = append(*e, x.(event)) }

// Pop is for package heap.
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}

// Now returns the time since the beginning.
func (w *World) Now() time.Duration { return w.now }

// At does something at a time that is not before now.
func (w *World) At(at time.Duration, do func()) {
	w.made++
	heap.Push(&w.queue, event{max(at, w.now), w.made, do})
}

// after does something so much later.
func (w *World) after(d time.Duration, do func()) { w.At(w.now+d, do) }

// Step lets the next event happen; false if there is none.
func (w *World) Step() bool {
	if len(w.queue) == 0 {
		return false
	}
	e := heap.Pop(&w.queue).(event)
	w.now = e.at
	e.do()
	w.Events++
	return true
}

// Run lets all events happen.
func (w *World) Run() {
	for w.Step() {
	}
}

// chance is true in one of 1/p cases.
func (w *World) chance(p float64) bool { return p > 0 && float64(w.draw()>>11)/(1<<53) < p }

func (w *World) draw() uint64 {
	w.random += topology.MixStep
	return topology.Mix(w.random)
}

package agent

import (
	"cmp"
	"slices"
	"sync"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/job"
)

// table is the jobs of a node by their numbers. The event loop alone begins and ends them;
// any goroutine may find one.
type table struct {
	mu      sync.Mutex
	changed sync.Cond
	begun   []*jobs.Job         // ascending, with those that are over and not forgotten; a list that was read stays as it was
	ended   map[job.Number]bool // those that are over, above all
	all     job.Number          // up to which each is over
	closed  bool
}

func newTable() *table {
	t := &table{ended: map[job.Number]bool{}}
	t.changed.L = &t.mu
	return t
}

func (t *table) index(n job.Number) (i int, begun bool) {
	return slices.BinarySearchFunc(t.begun, n, func(j *jobs.Job, n job.Number) int { return cmp.Compare(j.Number(), n) })
}

// here finds a job that is not forgotten; nil for none.
func (t *table) here(n job.Number) *jobs.Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, begun := t.index(n); begun {
		return t.begun[i]
	}
	return nil
}

// find finds a job that is not over; nil for none.
func (t *table) find(n job.Number) *jobs.Job {
	if t.over(n) {
		return nil
	}
	return t.here(n)
}

// over reports whether a job is. One that never came has not been before.
func (t *table) over(n job.Number) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return n <= t.all || t.ended[n]
}

// await finds a job that is not over, and waits for one that has yet to begin; nil for one that
// is over, and once the table is closed.
func (t *table) await(n job.Number) *jobs.Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.closed && n > t.all && !t.ended[n] {
		if i, begun := t.index(n); begun {
			return t.begun[i]
		}
		t.changed.Wait()
	}
	return nil
}

// list returns all that are not forgotten.
func (t *table) list() []*jobs.Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun
}

// open returns those that are not over.
func (t *table) open() (open []*jobs.Job) {
	for _, j := range t.list() {
		if !t.over(j.Number()) {
			open = append(open, j)
		}
	}
	return open
}

// begin takes a job in, which has not begun.
func (t *table) begin(j *jobs.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := t.index(j.Number())
	t.begun = slices.Insert(slices.Clone(t.begun), i, j)
	t.changed.Broadcast()
}

// end has a job be over, also one that has not begun.
func (t *table) end(n job.Number) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended[n] = true
	for t.ended[t.all+1] {
		t.all++
		delete(t.ended, t.all)
	}
	t.changed.Broadcast()
}

// forget lets go of a job that is over.
func (t *table) forget(n job.Number) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = slices.DeleteFunc(slices.Clone(t.begun), func(j *jobs.Job) bool { return j.Number() == n })
}

// close has nobody wait any more.
func (t *table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.changed.Broadcast()
}

// living counts the local ranks of all jobs that have not ended.
func (t *table) living() (n int) {
	for _, j := range t.list() {
		n += j.End().Living()
	}
	return n
}

// some reports whether a condition holds for a job.
func (t *table) some(is func(*jobs.Job) bool) bool { return slices.ContainsFunc(t.list(), is) }

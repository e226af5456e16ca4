package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// wardenJob is the warden's state of one job. The tree itself, number 0, has one too: it
// has no ranks, and its end ends the processes that no job's end did.
type wardenJob struct {
	number   job.Number
	id       string // GOLAUNCH_JOB of its processes
	cgroup   *cgroup
	cgroupFD int // -1 where there is none
	// sessions are those of its ranks and helpers, which each lead one.
	sessions map[int]bool
	spec     *Spec     // for batches to come
	queue    []batch   // ranks not started yet
	current  []Child   // of queue[0], decoded, the rest to start
	held     bool      // every rank was stopped: none is started
	toHelp   []Helper  // that wait for their start
	living   int       // ranks that run
	told     [2]string // of limits that could not be set, by level
	noPTY    bool      // it was told that there are no pseudo-terminals
	scratch  []string  // directories to remove when it is closed
	closing  bool      // it is forgotten when nothing of it is left
	ending
}

// jobIDOf is GOLAUNCH_JOB of the processes of a job, where that of the tree's own is id.
func jobIDOf(id string, n job.Number) string {
	if n == job.TreeItself {
		return id
	}
	return id + "." + strconv.FormatUint(uint64(n), 10)
}

// openJob makes room for a job.
func (w *warden) openJob(n job.Number) error {
	if n == job.TreeItself || w.jobs[n] != nil || w.final {
		return fmt.Errorf("job %d is opened twice, or too late", n)
	}
	j := &wardenJob{number: n, id: jobIDOf(w.tree.id, n), cgroupFD: -1, sessions: map[int]bool{}}
	w.jobs[n], w.order = j, append(w.order, j)
	w.makeCgroup(j)
	return nil
}

// makeCgroup gives a job a cgroup below the tree's, where that has one.
func (w *warden) makeCgroup(j *wardenJob) {
	if w.tree.cgroup == nil {
		return
	}
	cg, err := w.tree.cgroup.below(strconv.FormatUint(uint64(j.number), 10))
	if err != nil {
		w.note(j, 1, fmt.Sprintf("no cgroup for the job, its processes are tracked by descent: %v", err))
		return
	}
	j.cgroup, j.cgroupFD = cg, cg.fd
}

// alone reports that everything below the warden is the job's: no other is open, or all
// are over in the end.
func (w *warden) alone(j *wardenJob) bool { return j == w.tree || len(w.order) == 1 }

// lead notes that a process of the job leads a session, whose number may have been that of
// another job's.
func (w *warden) lead(j *wardenJob, pid int) {
	for _, other := range w.jobs {
		delete(other.sessions, pid)
	}
	j.sessions[pid] = true
}

// claimed finds the job's processes while other jobs are open: by the sessions that its
// ranks and helpers lead, by descent from these, and those that left both by
// GOLAUNCH_JOB. Processes that no job claims stay until the tree ends.
func (w *warden) claimed(j *wardenJob, all []process) map[int]bool {
	ours := descendants(all, os.Getpid(), nil)
	other := func(pid int) bool {
		for _, o := range w.jobs {
			if o != j && o.sessions[pid] {
				return true
			}
		}
		return false
	}
	found := map[int]bool{}
	var roots []int
	variable := jobVariable + "=" + j.id
	for _, p := range all {
		switch {
		case !ours[p.pid] || p.dead:
		case j.sessions[p.session] || !other(p.session) && carries(p.pid, variable):
			roots = append(roots, p.pid)
		}
	}
	for _, root := range roots {
		found[root] = true
		for pid := range descendants(all, root, other) {
			found[pid] = true
		}
	}
	for _, p := range all {
		if p.dead || other(p.session) {
			delete(found, p.pid)
		}
	}
	return found
}

// note sends the agent a note about a job for the user.
func (w *warden) note(j *wardenJob, level int, text string) {
	w.out.add(wireEvent{Kind: evNote, Job: j.number, Code: level, Text: text})
}

// close has a job forgotten once nothing of it is left, which it is to be at once.
func (w *warden) close(j *wardenJob) {
	j.closing = true
	w.kill(j, 0)
}

// forget lets go of a job of which nothing is left. Its files may be many, and other jobs
// do not wait for their removal.
func (w *warden) forget(j *wardenJob) {
	delete(w.jobs, j.number)
	w.order = slices.DeleteFunc(slices.Clone(w.order), func(o *wardenJob) bool { return o == j })
	w.dropCgroup(j)
	w.removals.running.Go(func() { // ends when the files are removed
		events := scratchNotes(j)
		w.removals.mu.Lock()
		w.removals.done = append(w.removals.done, append(events, wireEvent{Kind: evClosed, Job: j.number})...)
		w.removals.mu.Unlock()
		w.poll.Wake()
	})
}

// removals are those of closed jobs' files.
type removals struct {
	running sync.WaitGroup
	mu      sync.Mutex
	done    []wireEvent // of those that are over: for the agent
}

// hearRemoved reports the files of closed jobs as removed that are.
func (w *warden) hearRemoved() {
	w.removals.mu.Lock()
	defer w.removals.mu.Unlock()
	for _, e := range w.removals.done {
		w.out.add(e)
	}
	w.removals.done = nil
}

// scratchNotes removes the job's files, and notes those that could not be.
func scratchNotes(j *wardenJob) (notes []wireEvent) {
	for _, dir := range j.scratch {
		if err := unix.RemoveTree(dir); err != nil && !errors.Is(err, os.ErrPermission) { // another user's folder is none of the job's
			notes = append(notes, wireEvent{Kind: evNote, Job: j.number, Text: fmt.Sprintf("the job's files could not be removed: %v", err)})
		}
		unix.RemoveRootCache(filepath.Dir(dir))
	}
	return notes
}

// hold has the ranks that wait for their start wait on while all ranks of the job are
// stopped: started later, they would run.
func (j *wardenJob) hold(s wireSignal) {
	if s.World != everyWorld {
		return
	}
	switch syscall.Signal(s.Signal) {
	case syscall.SIGSTOP:
		j.held = true
	case syscall.SIGCONT:
		j.held = false
	}
}

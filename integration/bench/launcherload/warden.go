package launcherload

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// runFor is the lifetime of fake ranks: until all of them have started, mostly.
const runFor = 300 * time.Millisecond

// warden is an agent.Warden whose ranks are descriptors without a process: the agent
// has the same of them as of real ones.
type warden struct {
	mu     sync.Mutex
	more   sync.Cond
	events []proc.Event
	over   bool
	ranks  []*fake // that run
}

// fake is a rank, and the other ends of the agent's descriptors.
type fake struct {
	exit proc.Exited
	ends []int
}

func newWarden() *warden {
	w := &warden{}
	w.more.L = &w.mu
	return w
}

// post adds events; w.mu is held.
func (w *warden) post(events ...proc.Event) {
	w.events = append(w.events, events...)
	w.more.Broadcast()
}

func (w *warden) Next() ([]proc.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.events) == 0 && !w.over {
		w.more.Wait()
	}
	if len(w.events) == 0 {
		return nil, io.EOF
	}
	events := w.events
	w.events = nil
	return events, nil
}

func (*warden) Help(job.Number, proc.Helper) error {
	return errors.New("a warden without processes has no helpers")
}

func (w *warden) Launch(_ job.Number, _ proc.Spec, ranks []proc.Child) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range ranks {
		started, f, err := start(c)
		if err != nil {
			w.post(proc.StartFailed{Job: job.Cold, World: c.World, Rank: c.Rank, Code: 125, Text: err.Error()})
			continue
		}
		w.ranks = append(w.ranks, f)
		w.post(started)
	}
	time.AfterFunc(runFor, func() { w.end(0) })
	return nil
}

// start makes a rank.
func start(c proc.Child) (proc.Started, *fake, error) {
	now := time.Now()
	f := &fake{exit: proc.Exited{Job: job.Cold, World: c.World, Rank: c.Rank, PID: os.Getpid()}}
	s := proc.Started{Job: job.Cold, World: c.World, Rank: c.Rank, PID: os.Getpid(), At: now, Stdin: -1}
	var errs []error
	output := func() (r int) {
		r, w, err := unix.Pipe()
		if err == nil {
			err = unix.SetNonblock(r)
			f.ends = append(f.ends, w) // into which it says nothing
		}
		errs = append(errs, err)
		return r
	}
	s.Stdout, s.Stderr = output(), output()
	pmi, its, err := unix.StreamPair()
	if err == nil {
		err = unix.SetNonblock(pmi)
		f.ends = append(f.ends, its)
	}
	s.PMI = pmi
	return s, f, errors.Join(append(errs, err)...)
}

// end has all ranks end, with a status.
func (w *warden) end(status syscall.WaitStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.ranks {
		for _, fd := range f.ends {
			unix.Close(fd)
		}
		f.exit.Status, f.exit.At = status, time.Now()
		w.post(f.exit)
	}
	w.ranks = nil
}

func (w *warden) gone(over bool) error {
	w.end(syscall.WaitStatus(syscall.SIGKILL))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = w.over || over
	w.post(proc.Gone{Job: job.Cold})
	return nil
}

func (w *warden) CloseJob(n job.Number) error {
	err := w.gone(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.post(proc.JobClosed{Job: n})
	return err
}

func (w *warden) OpenJob(job.Number) error                          { return nil }
func (w *warden) Signal(job.Number, syscall.Signal) error           { return nil }
func (w *warden) SignalWorld(job.Number, int, syscall.Signal) error { return nil }
func (w *warden) Kill(job.Number, time.Duration) error              { return w.gone(false) }
func (w *warden) Finish() error                                     { return w.gone(true) }
func (w *warden) Beat() error                                       { return nil }
func (w *warden) BeatEvery() time.Duration                          { return 0 }
func (w *warden) Scratch(job.Number, []string) error                { return nil }
func (w *warden) Sweep(context.Context, func(int) bool) error       { return nil }
func (w *warden) Destroy()                                          {}

func (w *warden) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.more.Broadcast()
}

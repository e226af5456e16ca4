package overlay

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/golaunch/golaunch/bootstrap"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/report"
)

// waitStep is the step of a start before its first: a place in the window.
const waitStep bootstrap.Phase = "wait for a place"

// starts notes what a Starter does, for --trace and for the progress line.
type starts struct {
	trace bool // keep every try
	watch bool // know which hosts are waited for

	mu    sync.Mutex
	tries []report.Start
	since map[job.HostIndex]time.Time // hosts that are not decided
}

func newStarts(c Common) *starts {
	return &starts{trace: c.Trace, watch: c.Progress, since: map[job.HostIndex]time.Time{}}
}

// host notes that a host is being started; what it returns ends that.
func (s *starts) host(h job.HostIndex) (decided func()) {
	if !s.watch {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since[h] = time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.since, h)
	}
}

// try notes one try to start a host, whose steps are told to the context that
// it returns. done ends it.
func (s *starts) try(ctx context.Context, h job.HostIndex) (_ context.Context, done func(error)) {
	if !s.trace {
		return ctx, func(error) {}
	}
	t := report.Start{Host: h, Begin: time.Now()}
	over := false
	ctx = bootstrap.WithSteps(ctx, func(p bootstrap.Phase, begin, end time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !over {
			t.Steps = append(t.Steps, report.Step{Name: string(p), Begin: begin, End: end})
		}
	})
	return ctx, func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if over = true; err != nil {
			t.Error = err.Error()
		}
		t.End = time.Now()
		s.tries = append(s.tries, t)
	}
}

// Starts are the tries to start hosts from here that are over. There are none
// unless the job is traced.
func (f *Family) Starts() []report.Start {
	var all []report.Start
	for _, s := range append(slices.Clone(f.former), f.starter) {
		s.starts.mu.Lock()
		all = append(all, s.starts.tries...)
		s.starts.mu.Unlock()
	}
	return all
}

// Slowest is the host that has been waited for longest from here, and how long;
// job.NoHost where none is.
func (f *Family) Slowest() (slowest job.HostIndex, age time.Duration) {
	s := f.starter.starts
	s.mu.Lock()
	defer s.mu.Unlock()
	slowest = job.NoHost
	for h, since := range s.since {
		if waits := time.Since(since); slowest == job.NoHost || waits > age {
			slowest, age = h, waits
		}
	}
	return slowest, age
}

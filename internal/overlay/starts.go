package overlay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
)

// waitStep is the step of a start before its first: a permit of the window.
const waitStep bootstrap.Phase = "wait for a place"

// starts notes the steps of a Starter, for --trace and for the progress line.
type starts struct {
	trace bool            // keep every try
	watch bool            // know which hosts are waited for
	tell  func(HostTried) // of every try; nil where nobody wants to know

	mu    sync.Mutex
	tries []report.Start
	kept  map[job.HostIndex]int        // tries
	open  map[job.HostIndex]*openStart // hosts that are not decided
}

// openStart is a host that is being started.
type openStart struct {
	since time.Time
	step  bootstrap.Phase // that began last
}

// LevelTries is the level of the notes of HostTried.
const LevelTries = 3

// HostTried is the event of a try to start a host that is over, where somebody wants to
// know. Text names the host, the way to it, and the time of each step.
type HostTried struct {
	Host job.HostIndex
	Text string
}

func newStarts(c Common, inbox *Inbox) *starts {
	s := &starts{trace: c.Trace, watch: c.Progress, open: map[job.HostIndex]*openStart{}, kept: map[job.HostIndex]int{}}
	if c.Verbose >= LevelTries {
		s.tell = func(e HostTried) { inbox.Put(e) }
	}
	return s
}

// host notes that a host is being started; its result ends that.
func (s *starts) host(h job.HostIndex) (decided func()) {
	if !s.watch {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[h] = &openStart{since: time.Now()}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, h)
	}
}

// try notes one try to start a host, whose steps are told to the context that
// it returns. done ends it.
func (s *starts) try(ctx context.Context, h job.HostIndex) (_ context.Context, done func(error)) {
	if !s.trace && !s.watch && s.tell == nil {
		return ctx, func(error) {}
	}
	t := report.Start{Host: h, Begin: time.Now()}
	over := false
	var details []string
	if s.tell != nil {
		ctx = bootstrap.WithDetails(ctx, func(text string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !over && len(details) < maxSpans {
				details = append(details, text)
			}
		})
	}
	ctx = bootstrap.WithSteps(ctx, func(p bootstrap.Phase) func() {
		begin := time.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		if o := s.open[h]; o != nil {
			o.step = p
		}
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !over && len(t.Steps) < maxSpans {
				t.Steps = append(t.Steps, report.Step{Name: string(p), Begin: begin, End: time.Now()})
			}
		}
	})
	return ctx, func(err error) {
		s.mu.Lock()
		over = true
		t.End = time.Now()
		if err != nil {
			t.Error = cut(err.Error(), maxError)
		}
		if s.trace {
			s.keep(t)
		}
		s.mu.Unlock()
		if s.tell != nil {
			s.tell(HostTried{h, Cut(triedText(t, details))})
		}
	}
}

// triedText describes a try: its outcome, details, and the time of each step.
func triedText(t report.Start, details []string) string {
	var b strings.Builder
	b.WriteString("started in ")
	if t.Error != "" {
		b.Reset()
		b.WriteString("a try to start it failed after ")
	}
	fmt.Fprintf(&b, "%v", t.End.Sub(t.Begin).Round(time.Millisecond))
	for i, s := range t.Steps {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s %v", sep, s.Name, s.End.Sub(s.Begin).Round(time.Millisecond))
	}
	for _, d := range details {
		b.WriteString("; " + d)
	}
	return b.String()
}

// keep keeps a try. Of many for one host it keeps the first and the last.
func (s *starts) keep(t report.Start) {
	if s.kept[t.Host] < maxTries {
		s.kept[t.Host]++
		s.tries = append(s.tries, t)
		return
	}
	for i := len(s.tries) - 1; i >= 0; i-- {
		if s.tries[i].Host == t.Host {
			s.tries[i] = t
			return
		}
	}
}

// Starts returns the tries to start hosts from here that are over. There are none
// unless the job is traced.
func (f *Subtree) Starts() []report.Start {
	var all []report.Start
	for _, s := range append(slices.Clone(f.former), f.starter) {
		s.starts.mu.Lock()
		all = append(all, s.starts.tries...)
		s.starts.mu.Unlock()
	}
	return all
}

// Slowest returns the host that has been waited for longest from here, the time, and
// its step; job.NoHost where none is.
func (f *Subtree) Slowest() Progress {
	s := f.starter.starts
	s.mu.Lock()
	defer s.mu.Unlock()
	p := Progress{Host: job.NoHost}
	for h, o := range s.open {
		p.Wait(h, time.Since(o.since), o.step)
	}
	return p
}

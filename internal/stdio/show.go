package stdio

import (
	"errors"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// Next returns when Tick is due, and false while nothing waits for it.
func (a *Assembler) Next() (time.Time, bool) {
	var due time.Time
	found := false
	a.resting(func(s *source) {
		if at := s.last.Add(a.cfg.ShowAfter); !found || at.Before(due) {
			due, found = at, true
		}
	})
	return due, found
}

// Tick shows the unfinished lines that have rested for ShowAfter. An error is
// Output.Write's.
func (a *Assembler) Tick(now time.Time) error {
	var err error
	a.resting(func(s *source) {
		if now.Sub(s.last) >= a.cfg.ShowAfter {
			err = errors.Join(err, a.show(s))
		}
	})
	return err
}

// resting calls do for each unfinished line that may be shown.
func (a *Assembler) resting(do func(*source)) {
	if a.cfg.ShowAfter < 0 || len(a.pending) == 0 {
		return
	}
	visit := func(r job.RankID) {
		for _, st := range [...]Stream{Stdout, Stderr} {
			if s := a.pending[key{r, st}]; s != nil && s.size() > 0 && !s.cut {
				do(s)
			}
		}
	}
	first := job.RankID{}
	visit(first)
	if len(a.writers) > 1 {
		return
	}
	for r := range a.writers {
		if r != first {
			visit(r)
		}
	}
}

// show writes s's line so far and leaves it open for its rest.
func (a *Assembler) show(s *source) error {
	k := s.key
	err := a.emit(s, nil)
	cut := s.cut
	a.release(s)
	if cut {
		a.source(k).cut = true
		return err
	}
	a.open, a.owner, a.openStream = owned, k, k.stream
	return err
}

// End says that a rank's stream has ended: its last line is printed even
// without a newline. Ending a stream that never wrote, or twice, is harmless.
// An error is Output.Write's.
func (a *Assembler) End(r job.RankID, st Stream) error {
	if a.writers[r] &^= 1 << st; a.writers[r] == 0 {
		delete(a.writers, r)
	}
	k := key{r, st}
	if a.open == owned && a.owner == k {
		return a.endOpen()
	}
	s := a.pending[k]
	if s == nil {
		return nil
	}
	if a.cfg.Label || s.cut || s.size() == 0 {
		return a.finish(s, newline)
	}
	err := a.emit(s, nil)
	if !s.cut {
		a.open, a.openStream = orphan, st
	}
	a.release(s)
	return err
}

// endOpen ends the shown line, whose stream has ended.
func (a *Assembler) endOpen() error {
	if !a.cfg.Label {
		a.open = orphan
		return nil
	}
	a.open = closed
	return a.cfg.Out.Write(a.openStream, newline)
}

// EndAll ends every stream that has not been ended, in rank order: the job is over, in
// whatever way its ranks ended. An error is Output.Write's.
func (a *Assembler) EndAll() error {
	keys := make([]key, 0, len(a.pending)+1)
	for k := range a.pending {
		keys = append(keys, k)
	}
	if a.open == owned {
		keys = append(keys, a.owner)
	}
	slices.SortFunc(keys, func(x, y key) int {
		switch {
		case x.before(y):
			return -1
		case y.before(x):
			return 1
		}
		return 0
	})
	var err error
	for _, k := range keys {
		err = errors.Join(err, a.End(k.rank, k.stream))
	}
	clear(a.writers)
	return err
}

// Held returns the bytes of unfinished lines that are held in memory.
func (a *Assembler) Held() int { return a.held }

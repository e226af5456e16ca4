package startup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// bench is a run of the measurements.
type bench struct {
	settings
	book  *book
	final string // the page's path in the end; "" for standard output
}

// runner is one entry of a contest.
type runner struct {
	name   string
	argv   []string
	env    []string
	reason string // not to run it
	// look reads, and checks, the output of a run; it may be nil.
	look func(out string, begun time.Time, r *reading) error
	// tolerant: it may say that it failed, if its output is right.
	tolerant bool
	here     bool          // it runs on this machine, not on head
	once     bool          // one round is enough
	least    int           // rounds that it has at least, however long they take
	limit    time.Duration // of one run of its own; 0: the settings'
}

// runners makes entries of contenders.
func (f *field) runners(list []contender, t task) []runner {
	var all []runner
	for _, c := range list {
		r := runner{name: c.name, reason: f.unfit(c, t)}
		if r.reason == "" {
			r.argv = c.argv(f, t)
		}
		if c.env != nil {
			r.env = c.env(f)
		}
		if c.name == taktukName {
			r.look = func(out string, _ time.Time, _ *reading) error { return taktukEnded(out, t.nodes) }
		}
		all = append(all, r)
	}
	return all
}

// hold runs all entries in turn, as often as the settings say, and enters the contest
// in the book. It fails only if nothing more can be run.
func (b *bench) hold(ctx context.Context, f *field, p place, list []runner) error {
	c := &contest{place: p}
	for _, r := range list {
		reason := r.reason
		if reason == "" {
			reason = b.slow(p, r)
		}
		c.entries = append(c.entries, &entry{name: r.name, failed: reason})
	}
	var spent time.Duration // on runs that came to something
	for round, ran := 0, true; ran; round++ {
		ran = false
		before := spent
		for i, r := range list {
			e := c.entries[i]
			if e.failed != "" || !b.again(r, round, before) {
				continue
			}
			ran = true
			begun := time.Now()
			reading, err := f.try(ctx, r)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				b.tell("%s, %d × %d, %s: %s: %v", p.part, p.nodes, p.ppn, p.program, r.name, err)
				e.failed = err.Error()
				if err := f.sweep(); err != nil {
					return err
				}
				if _, err := f.settled(); err != nil {
					return err
				}
				continue
			}
			spent += time.Since(begun)
			e.readings = append(e.readings, reading)
		}
	}
	b.tell("%s, %d × %d, %s: %d rounds, golaunch %.0f ms", p.part, p.nodes, p.ppn, p.program, c.rounds(), c.median(golaunchName, wall))
	b.book.contests = append(b.book.contests, c)
	return b.save()
}

// again reports whether a runner has a further round after so many, and so much time
// that was spent on all.
func (s settings) again(r runner, rounds int, spent time.Duration) bool {
	switch {
	case rounds < max(r.least, 1):
		return true
	case r.once:
		return false
	}
	return rounds < s.Runs && spent <= s.budget
}

// try makes one run, in its time.
func (f *field) try(ctx context.Context, r runner) (reading, error) {
	limit := f.limit
	if r.limit > 0 {
		limit = r.limit
	}
	reading, out, begun, err := f.once(ctx, limit, r)
	if err != nil && (!r.tolerant || errors.Is(err, errNoEnd)) {
		return reading, err
	}
	if r.look == nil {
		return reading, err
	}
	if wrong := r.look(out, begun, &reading); wrong != nil {
		return reading, errors.Join(wrong, err)
	}
	return reading, nil
}

// slow returns the reason that a rival is not tried with more ranks than in an earlier
// contest of this kind: it did not end in time there; or on one machine, where one
// process's work for all ranks can grow as their square, it would take more than half
// the limit. One with a limit of its own is tried in any case.
func (b *bench) slow(p place, r runner) string {
	name := r.name
	if name == floorName || name == golaunchName || r.limit > 0 {
		return ""
	}
	for _, c := range b.book.of(p.part, p.kex) {
		if c.program != p.program || c.nodes > p.nodes || c.ppn > p.ppn {
			continue
		}
		had := max(c.nodes, 1) * c.ppn
		if e := c.entry(name); e != nil && strings.HasPrefix(e.failed, errNoEnd.Error()) {
			return fmt.Sprintf("not tried: %d ranks did not end in time", had)
		}
		growth := float64(p.ppn) / float64(c.ppn)
		if took := c.median(name, wall) / 1000; p.part == partLocal && took*growth*growth > b.limit.Seconds()/2 {
			return fmt.Sprintf("not tried: %d ranks took %.0f s", had, took)
		}
	}
	return ""
}

// tell says something on standard error, with the time since the beginning.
func (s settings) tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %4.0f s: %s\n", time.Since(s.begun).Seconds(), fmt.Sprintf(format, args...))
}

package startup

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// reading is one run.
type reading struct {
	wall time.Duration
	cpu  time.Duration // of everything on the cluster's machines
	self time.Duration // of the launcher alone, and of children it waited for
	// Of jobs of pmistart: until the last rank began, and from there until the
	// last was through.
	spawn, init time.Duration
}

func wall(r reading) float64  { return r.wall.Seconds() * 1000 } // ms
func spawn(r reading) float64 { return r.spawn.Seconds() * 1000 }
func inits(r reading) float64 { return r.init.Seconds() * 1000 }
func cpu(r reading) float64   { return r.cpu.Seconds() }
func self(r reading) float64  { return r.self.Seconds() }

// place identifies a contest.
type place struct {
	part    string
	kex     string
	nodes   int // 0: this machine alone
	ppn     int // ranks per node
	program string
}

// contest is one job, run by several contenders in turn.
type contest struct {
	place
	entries []*entry
}

// entry is one contender's part.
type entry struct {
	name     string
	readings []reading // of each round
	failed   string    // the reason that it was not run, or not again
	absent   bool      // there is nothing here to run it over: no failure of its own
}

func (c *contest) entry(name string) *entry {
	for _, e := range c.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// readings returns those of a contender that did not fail.
func (c *contest) readings(name string) []reading {
	if c == nil {
		return nil
	}
	if e := c.entry(name); e != nil && e.failed == "" {
		return e.readings
	}
	return nil
}

// median returns that of a contender's readings; NaN without any.
func (c *contest) median(name string, of func(reading) float64) float64 {
	var values []float64
	for _, r := range c.readings(name) {
		values = append(values, of(r))
	}
	return middle(values)
}

// ratio returns the median over the rounds of a's number by b's; NaN without any.
func (c *contest) ratio(a, b string, of func(reading) float64) float64 {
	x, y := c.readings(a), c.readings(b)
	var values []float64
	for i := range min(len(x), len(y)) {
		values = append(values, of(x[i])/of(y[i]))
	}
	return middle(values)
}

// rounds counts the rounds of the contest.
func (c *contest) rounds() int {
	most := 0
	for _, e := range c.entries {
		most = max(most, len(e.readings))
	}
	return most
}

// middle returns the median of values, NaN of none.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return results.Median(values)
}

// book has all measurements. The page is made of it alone.
type book struct {
	settings settings
	head     []string // the machine and the programs, a sentence each
	took     time.Duration
	contests []*contest
	phases   []phaseRow
	memory   []memoryRow
	refusals *refusals
	stopped  []string // parts that came to an early end, with the reasons
	// openSSH10 is the version of OpenSSH 10; empty where it was not measured.
	openSSH10 string
}

func newBook(s settings) *book { return &book{settings: s} }

// of returns the contests of a part, in order.
func (b *book) of(part, kex string) (all []*contest) {
	for _, c := range b.contests {
		if c.part == part && c.kex == kex {
			all = append(all, c)
		}
	}
	return all
}

// at returns the contest of a place, or nil.
func (b *book) at(p place) *contest {
	for _, c := range b.contests {
		if c.place == p {
			return c
		}
	}
	return nil
}

// failed returns an error with the failures of golaunch itself, and parts that came to
// an early end: these must not be overlooked.
func (b *book) failed() error {
	var failures []string
	for _, c := range b.contests {
		for _, e := range c.entries {
			if strings.HasPrefix(e.name, golaunchName) && e.failed != "" && !e.absent {
				failures = append(failures, fmt.Sprintf("%s, %s, %d × %d, %s: %s: %s", c.part, c.kex, c.nodes, c.ppn, c.program, e.name, e.failed))
			}
		}
	}
	if b.refusals != nil && b.refusals.failed > 0 {
		failures = append(failures, fmt.Sprintf("%d of %d starts over sshds that refuse connections", b.refusals.failed, len(b.refusals.times)))
	}
	failures = append(failures, b.stopped...)
	if len(failures) == 0 {
		return nil
	}
	return fmt.Errorf("golaunch failed, or a part ended early:\n  %s", strings.Join(failures, "\n  "))
}

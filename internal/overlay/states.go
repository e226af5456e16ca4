package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// State is the activity of some ranks of a world when a job's time is up: of all that
// do the same, as far as Alike can tell.
type State struct {
	World   int       `cbor:"1,keyasint,omitempty"`
	Call    string    `cbor:"2,keyasint,omitempty"` // in what they wait, or how far they have come
	For     Span      `cbor:"3,keyasint"`           // seconds since they have called it, or have last asked for anything
	Process string    `cbor:"4,keyasint,omitempty"` // name of the process that shows most, where that is none of the ranks themselves
	Kernel  string    `cbor:"5,keyasint,omitempty"` // kernel's account of that process
	CPU     Span      `cbor:"6,keyasint"`           // percent of one processor, used by a rank and all that it has started
	Ranks   []WaitRun `cbor:"7,keyasint"`           // ascending
}

// Span is the least and the most of a number over some ranks.
type Span struct {
	_           struct{} `cbor:",toarray"`
	Least, Most int
}

// Unknown is the Span of unknown values.
var Unknown = Span{Least: -1, Most: -1}

// One returns the Span of one number.
func One(n int) Span { return Span{Least: n, Most: n} }

// with returns the Span of both.
func (s Span) with(t Span) Span {
	return Span{Least: min(s.Least, t.Least), Most: max(s.Most, t.Most)}
}

func (s Span) valid() bool {
	return s == Unknown || s.Least >= 0 && s.Least <= s.Most && s.Most <= math.MaxInt32
}

// MostStates bounds the states that an answer tells of, and MostStateText, in bytes, each
// text of one.
const (
	MostStates    = 64
	MostStateText = 256
)

// Percent of a processor from which ranks do not count as idle, and from which they count
// as busy.
const (
	usedSome = 20
	usedMost = 90
)

// load grades the load of ranks, in three steps.
func (s Span) load() int {
	switch {
	case s == Unknown:
		return -1
	case s.Most < usedSome:
		return 0
	case s.Most < usedMost:
		return 1
	}
	return 2
}

// Alike tells whether ranks of both states do the same: for times and shares of a
// processor that differ a little there is a Span.
func (s *State) Alike(t *State) bool {
	return s.World == t.World && s.Call == t.Call && s.Process == t.Process && s.Kernel == t.Kernel &&
		s.CPU.load() == t.CPU.load() && (s.For == Unknown) == (t.For == Unknown)
}

// Count counts its ranks.
func (s *State) Count() (n int) {
	for _, run := range s.Ranks {
		n += run.Count
	}
	return n
}

// MergeStates folds states into w. Of those that are too many, the ranks alone are counted.
func (w *Waits) MergeStates(states ...State) {
	for _, s := range states {
		i := slices.IndexFunc(w.States, func(t State) bool { return t.Alike(&s) })
		switch {
		case i >= 0:
			t := &w.States[i]
			t.For, t.CPU, t.Ranks = t.For.with(s.For), t.CPU.with(s.CPU), mergeRuns(t.Ranks, s.Ranks)
		case len(w.States) < MostStates:
			w.States = append(w.States, s)
		default:
			w.Untold += s.Count()
		}
	}
}

// mergeRuns joins runs of ranks, each of which is in one of them.
func mergeRuns(a, b []WaitRun) (all []WaitRun) {
	sorted := slices.SortedFunc(slices.Values(slices.Concat(a, b)), func(x, y WaitRun) int { return cmp.Compare(x.First, y.First) })
	for _, run := range sorted {
		if n := len(all); n > 0 && all[n-1].First+all[n-1].Count == run.First {
			all[n-1].Count += run.Count
		} else {
			all = append(all, run)
		}
	}
	return all
}

// StatesWithin returns the time that an agent with so many levels of others below it
// waits for their states: less than its parent does. Above all of them the launcher
// waits for 2 s.
func StatesWithin(levels int) time.Duration {
	const own, level, most = time.Second, 150 * time.Millisecond, 1850 * time.Millisecond
	return own + min(time.Duration(min(levels, int(most/level)))*level, most-own)
}

// states: of ranks that are below the child, each once, and hosts there.
func (c *claims) states(m *Waits) error {
	if len(m.States) > MostStates || len(m.States) == 0 && m.Untold != 0 || m.Untold < 0 || m.Untold > c.ranks {
		return fmt.Errorf("%d states of ranks, and %d more ranks", len(m.States), m.Untold)
	}
	left := map[int]int{}
	for _, s := range m.States {
		if err := line(MostStateText, s.Call, s.Process, s.Kernel); err != nil {
			return err
		}
		if !s.For.valid() || !s.CPU.valid() {
			return fmt.Errorf("a state for %d to %d seconds, with %d to %d %% of a processor", s.For.Least, s.For.Most, s.CPU.Least, s.CPU.Most)
		}
		if len(s.Ranks) == 0 {
			return errors.New("a state of no rank")
		}
		if _, begun := left[s.World]; !begun {
			left[s.World] = c.ranksIn(s.World)
		}
		n := left[s.World]
		for _, r := range s.Ranks {
			if err := c.take(&n, s.World, job.Rank(r.First), r.Count); err != nil {
				return fmt.Errorf("a state of %w", err)
			}
		}
		left[s.World] = n
	}
	for _, h := range m.Silent {
		if err := c.child.host(h); err != nil {
			return err
		}
	}
	if h, again := twice(slices.Clone(m.Silent)); again {
		return fmt.Errorf("%s is silent twice", c.child.called(h))
	}
	return nil
}

// ranksIn bounds the ranks of a world that the child may tell of: of one that is over,
// whose ranks nobody can place any more, all of them.
func (c *claims) ranksIn(world int) int {
	if _, over, _ := c.places.find(world); over {
		return c.ranks
	}
	if w := c.worlds[world]; w != nil {
		return w.ranks
	}
	return 0
}

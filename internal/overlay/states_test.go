package overlay

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

func state(call string, seconds, cpu int, ranks ...int) State {
	return State{Call: call, For: One(seconds), CPU: One(cpu), Kernel: "asleep", Ranks: AppendWaitRuns(nil, ranks)}
}

// Ranks that do the same are one, whatever the order in which they are told of.
func TestStatesFold(t *testing.T) {
	busy := state("barrier", 4, 100, 9)
	busy.Kernel = "running"
	ended := State{Call: "ended with code 0", For: Unknown, CPU: Unknown, Ranks: AppendWaitRuns(nil, []int{3})}
	wrapped := state("barrier", 4, 0, 10)
	wrapped.Process = "app"
	second := state("barrier", 4, 0, 11)
	second.World = 1
	var w Waits
	w.MergeStates(state("barrier", 4, 0, 2), state("barrier", 4, 10, 0))
	w.Merge(Waits{States: []State{state("barrier", 7, 0, 1, 4), busy, state("get", 4, 0, 7)}})
	w.Merge(Waits{States: []State{state("barrier", 4, 50, 5), ended, wrapped, second}})
	require.Equal(t, []State{
		{Call: "barrier", For: Span{Least: 4, Most: 7}, CPU: Span{Least: 0, Most: 10}, Kernel: "asleep", Ranks: []WaitRun{{First: 0, Count: 3}, {First: 4, Count: 1}}},
		busy, state("get", 4, 0, 7), state("barrier", 4, 50, 5), ended, wrapped, second,
	}, w.States)
	require.Equal(t, 4, w.States[0].Count())
	got, err := Decode[Waits](Encode(w))
	require.NoError(t, err)
	require.Equal(t, w, got)
}

// A job of a million ranks that do two things is two states of two runs, however they
// come together; ranks that all do different things are counted.
func TestStatesAreBounded(t *testing.T) {
	const nodes, each = 8192, 128
	var w Waits
	for node := range nodes {
		first := node * each
		s := state("barrier", 4+node%3, 0)
		s.Ranks = []WaitRun{{First: first, Count: each}}
		if node == 77 {
			s.Ranks[0].Count--
			w.MergeStates(state("", 4, 100, first+each-1))
		}
		w.MergeStates(s)
	}
	require.Less(t, len(Encode(w)), 200)
	require.Len(t, w.States, 2)
	require.Equal(t, nodes*each, w.States[0].Count()+w.States[1].Count())

	w = Waits{}
	for rank := range MostStates + 10 {
		w.Merge(Waits{States: []State{state(strings.Repeat("x", rank), 0, 0, rank)}, Untold: 1})
	}
	require.Len(t, w.States, MostStates)
	require.Equal(t, MostStates+10+10, w.Untold)
}

// An agent below another gives up sooner, and all of them before the launcher, but for
// trees that are far deeper than any that is needed.
func TestStatesWithin(t *testing.T) {
	for levels := range 5 {
		require.Less(t, StatesWithin(levels), StatesWithin(levels+1))
	}
	for _, levels := range []int{0, 1, 5, 6, 100, math.MaxInt} {
		require.Less(t, StatesWithin(levels), 1900*time.Millisecond)
	}
}

func TestWhatAChildMaySayOfStates(t *testing.T) {
	with := func(change func(*State)) Waits {
		s := state("x", 1, 0, 4)
		change(&s)
		return Waits{States: []State{s}}
	}
	for name, x := range map[string]struct {
		message Waits
		want    string
	}{
		"its ranks":            {Waits{States: []State{state("x", 1, 0, 4, 5, 7), state("y", 1, 0, 6)}}, ""},
		"of a spawned world":   {with(func(s *State) { s.World, s.Ranks[0].First = 1, 0 }), ""},
		"of one that is over":  {with(func(s *State) { s.World = 3 }), ""},
		"others":               {with(func(s *State) { s.Ranks[0].First = 3 }), "a state of ranks 3+1 of world 0, which are not below it"},
		"far beyond":           {with(func(s *State) { s.Ranks[0].First = math.MaxInt }), "which are not below it"},
		"a rank twice":         {Waits{States: []State{state("x", 1, 0, 4, 5, 6, 7), state("y", 1, 0, 4)}}, "which are not below it"},
		"no rank":              {with(func(s *State) { s.Ranks = nil }), "a state of no rank"},
		"none at all":          {with(func(s *State) { s.Ranks[0].Count = 0 }), "which are not below it"},
		"of no world":          {with(func(s *State) { s.World = 4 }), "world 4 does not exist"},
		"a long text":          {with(func(s *State) { s.Call = strings.Repeat("x", MostStateText+1) }), "a text of 257 bytes"},
		"a long name":          {with(func(s *State) { s.Process = strings.Repeat("x", MostStateText+1) }), "a text of 257 bytes"},
		"a long word":          {with(func(s *State) { s.Kernel = strings.Repeat("x", MostStateText+1) }), "a text of 257 bytes"},
		"two lines":            {with(func(s *State) { s.Call = "x\ngolaunch: y" }), "a text that is not one line of what prints"},
		"colours":              {with(func(s *State) { s.Process = "\x1b[31mx" }), "a text that is not one line of what prints"},
		"half a character":     {with(func(s *State) { s.Kernel = "\xe2\x82" }), "a text that is not one line of what prints"},
		"a span upside down":   {with(func(s *State) { s.For = Span{Least: 4, Most: 3} }), "a state for 4 to 3 seconds"},
		"half of it not known": {with(func(s *State) { s.CPU = Span{Least: -1, Most: 3} }), "-1 to 3 %"},
		"too many":             {Waits{States: make([]State, MostStates+1)}, "65 states"},
		"further ones":         {Waits{States: []State{state("x", 1, 0, 4)}, Untold: 3}, ""},
		"more than all":        {Waits{States: []State{state("x", 1, 0, 4)}, Untold: 1000}, "1000 more ranks"},
		"fewer than none":      {Waits{States: []State{state("x", 1, 0, 4)}, Untold: -1}, "-1 more ranks"},
		"silent hosts":         {Waits{Silent: []job.HostIndex{3, 2}}, ""},
		"of others":            {Waits{Silent: []job.HostIndex{4}}, "n4 is not below it"},
		"silent twice":         {Waits{Silent: []job.HostIndex{3, 3}}, "n3 is silent twice"},
	} {
		t.Run(name, func(t *testing.T) {
			err := say(middleChild(true), KindWaits, 0, x.message)
			if x.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, x.want)
			}
		})
	}
}

// Words of honest agents about programs are heard, for any names of these.
func TestTextsOfStatesAreFit(t *testing.T) {
	for _, text := range []string{"x", "", "x\ny", "\x1b[31mred", "\xff\xfe", strings.Repeat("€", MostStateText), strings.Repeat("\xff", MostStateText), strings.Repeat("\n", 1000)} {
		require.NoError(t, line(MostStateText, CutState(text)), "%q", text)
		require.NoError(t, line(maxCause, CutWait(strings.Repeat(text, 100)), CutWhy(text)), "%q", text)
	}
}

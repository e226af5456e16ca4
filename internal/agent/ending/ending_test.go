package ending

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

// TestAllOrders takes every step that can be taken at every place that can be
// reached, and finds that whatever is under way comes to rest.
func TestAllOrders(t *testing.T) {
	for name, s := range map[string]setup{
		"a relay":                 {relay: true},
		"a node without ranks":    {},
		"one rank":                {ranks: 1, worlds: 1},
		"two ranks of one world":  {ranks: 2, worlds: 1},
		"two ranks of two worlds": {ranks: 2, worlds: 2, world: [mostRanks]int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places, known := []visit{{place: place{setup: &s}, from: -1}}, map[place]int{{setup: &s}: 0}
			way := func(i int) (names []string) {
				for ; i > 0; i = places[i].from {
					names = append([]string{places[i].step.String()}, names...)
				}
				return names
			}
			for i := 0; i < len(places); i++ {
				p := places[i].place
				if p.n.Over() {
					continue
				}
				for _, step := range p.steps() {
					next := p.after(step)
					if next.fault != "" {
						require.Fail(t, next.fault, "%q, %s", way(i), step)
					}
					to, ok := known[next]
					if !ok {
						to = len(places)
						known[next] = to
						places = append(places, visit{place: next, from: i, step: step})
					}
					if step.fair {
						places[i].fair = append(places[i].fair, to)
					}
				}
				if len(places[i].fair) == 0 {
					if p.rest(); p.fault != "" {
						require.Fail(t, p.fault, "%q, and nothing more", way(i))
					}
				}
			}
			require.Zero(t, circling(places), "places from which steps that must come lead in a circle")
			t.Logf("%d places", len(places))
		})
	}
}

// visit is a place, how it was first reached, and where steps lead that will come.
type visit struct {
	place place
	from  int
	step  step
	fair  []int
}

// circling is at how many places fair steps may go on for ever.
func circling(places []visit) int {
	into, left := make([]int, len(places)), len(places)
	for _, v := range places {
		for _, to := range v.fair {
			into[to]++
		}
	}
	var free []int
	for i, n := range into {
		if n == 0 {
			free = append(free, i)
		}
	}
	for ; len(free) > 0; left-- {
		v := places[free[len(free)-1]]
		free = free[:len(free)-1]
		for _, to := range v.fair {
			if into[to]--; into[to] == 0 {
				free = append(free, to)
			}
		}
	}
	return left
}

// fatal steps leave little to come.
var fatal = []string{"END", "the parent is lost", "no warden", "the warden dies", "kill"}

// TestManyOrders has more ranks, in worlds of any size, in orders by chance.
func TestManyOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &setup{ranks: mostRanks}
		for i := range mostRanks {
			s.world[i] = rapid.IntRange(0, s.worlds).Draw(t, "world")
			s.worlds = max(s.worlds, s.world[i]+1)
		}
		p := place{setup: s}
		take := func(steps []step) {
			step := steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]
			p = p.after(step)
			require.Empty(t, p.fault, step)
		}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			steps := p.steps()
			if rapid.IntRange(0, 20).Draw(t, "fatal") > 0 { // else most lives are short
				steps = slices.DeleteFunc(steps, func(s step) bool { return slices.Contains(fatal, s.what) })
			}
			if !p.n.Over() && len(steps) > 0 {
				take(steps)
			}
		}
		for !p.n.Over() {
			var fair []step
			for _, step := range p.steps() {
				if step.fair {
					fair = append(fair, step)
				}
			}
			if len(fair) == 0 {
				break
			}
			take(fair)
		}
		p.rest()
		require.Empty(t, p.fault)
	})
}

func verbsOf(actions []Action) (list []Verb) {
	for _, x := range actions {
		list = append(list, x.Do)
	}
	return list
}

// A warden that answers no beats is killed when patience is over, with the reason;
// one that was told to end is told so again instead.
func TestBeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n Node
		n.Ranged()
		n.WardenUp()
		n.Launched()
		patience := time.Duration(rapid.IntRange(1, 5).Draw(t, "patience"))
		silent := time.Duration(0)
		for range 20 {
			switch rapid.SampledFrom([]string{"due", "heard", "END"}).Draw(t, "event") {
			case "heard":
				silent = 0
				n.WardenHeard()
			case "END":
				n.ParentEnded()
			case "due":
				got := verbsOf(n.BeatDue(1, patience))
				switch {
				case n.Finished():
					require.Equal(t, []Verb{Beat, Finish, BeatLater}, got)
				case silent > patience:
					require.Equal(t, []Verb{Destroy}, got)
					why := n.WardenLost(errTest)[0]
					require.Equal(t, Sweep, why.Do)
					require.EqualError(t, why.Err, "the warden was silent for "+silent.String()+" and was killed")
					require.Empty(t, n.BeatDue(1, patience))
					return
				default:
					require.Equal(t, []Verb{Beat, BeatLater}, got)
				}
				silent++
			}
		}
		require.Empty(t, n.BeatDue(0, patience), "beats that nobody wants")
	})
}

// The time that the warden is given is that of what it was told last.
func TestTheWardenHasItsTime(t *testing.T) {
	var n Node
	var j Job
	n.Ranged()
	n.WardenUp()
	n.Launched()
	j.RanksCome(&n, 1)
	j.RanksHanded(1)
	slow := j.KillOrdered(&n, time.Minute)
	require.Equal(t, []Verb{StartNone, Kill, Watch}, verbsOf(slow))
	require.Equal(t, time.Minute, slow[1].Grace)
	require.Equal(t, time.Minute, slow[2].Grace)
	require.Empty(t, j.KillOrdered(&n, time.Hour), "a later order can only end the grace")
	fast := j.KillOrdered(&n, 0)
	require.Equal(t, []Verb{StartNone, Kill, Watch}, verbsOf(fast))
	require.Empty(t, n.WardenStuck(slow[2].Number, Numbered{1, &j}))
	require.Equal(t, []Verb{Destroy}, verbsOf(n.WardenStuck(fast[2].Number, Numbered{1, &j})))
	require.Equal(t, []Verb{Sweep, CutAll, Forsake}, verbsOf(n.WardenLost(errTest, Numbered{1, &j})))
}

func TestVerbsHaveNames(t *testing.T) {
	for v := StartNone; v <= Unfit; v++ {
		require.NotEmpty(t, v.String())
	}
}

// twoJobs returns a node with its warden, and two jobs with a rank each.
func twoJobs() (n *Node, jobs []Numbered) {
	n = &Node{}
	n.Ranged()
	n.WardenUp()
	n.Launched()
	jobs = []Numbered{{1, &Job{}}, {2, &Job{}}}
	for _, j := range jobs {
		j.RanksCome(n, 1)
		j.RanksHanded(1)
	}
	return n, jobs
}

// The grace of one job gives the warden no time for another, nor takes it.
func TestTheWardenHasItsTimeForEachJob(t *testing.T) {
	n, jobs := twoJobs()
	slow := jobs[0].KillOrdered(n, time.Hour)[2].Number
	fast := jobs[1].KillOrdered(n, 0)[2].Number
	clean := jobs[1].RankEnded(n, true, true)[2].Number
	require.Equal(t, []Verb{Cut}, verbsOf(jobs[1].RanksGone(n)))
	for _, number := range []int{fast, clean} {
		require.Empty(t, n.WardenStuck(number, jobs...), "the other job's grace goes on")
	}
	require.Equal(t, []Verb{Destroy}, verbsOf(n.WardenStuck(slow, jobs...)))

	finish := n.ParentEnded(jobs...)
	require.Empty(t, n.WardenStuck(slow, jobs...))
	i := slices.IndexFunc(finish, func(x Action) bool { return x.Do == Finish })
	require.Equal(t, []Verb{Destroy}, verbsOf(n.WardenStuck(finish[i+1].Number, jobs...)))
}

// One job's end touches no other; the node's ends all, each by its number.
func TestJobsEndApart(t *testing.T) {
	n, jobs := twoJobs()
	require.Equal(t, []Verb{StartNone, Kill, Watch}, verbsOf(jobs[0].KillOrdered(n, 0)))
	require.False(t, jobs[1].Killed())
	require.Equal(t, []Verb{Settle, Kill, Watch}, verbsOf(jobs[0].RankEnded(n, true, true)))
	require.Equal(t, []Verb{Cut}, verbsOf(jobs[0].RanksGone(n)))
	require.Equal(t, []int{0, 1}, []int{jobs[0].Living(), jobs[1].Living()})

	ends := n.ParentEnded(jobs...)
	require.Equal(t, []Verb{CallOff, StartNone, StartNone, Kill, Watch, Shut, Shut, Finish, Watch, EndChildren}, verbsOf(ends))
	var of []job.Number
	for _, x := range ends {
		of = append(of, x.Job)
	}
	require.Equal(t, []job.Number{0, 1, 2, 2, 0, 1, 2, 0, 0, 0}, of)
	require.Equal(t, []Action{{Do: CutAll, Job: 1}, {Do: Forsake, Job: 1}, {Do: CutAll, Job: 2}, {Do: Forsake, Job: 2}}, n.WardenLost(errTest, jobs...))
}

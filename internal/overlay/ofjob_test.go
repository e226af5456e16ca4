package overlay

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/tree"
)

// Two jobs of a tree.
const (
	jobOne = job.Cold
	jobTwo = job.Cold + 1
)

// ofTwoJobs returns the child of middleChild on a tree where n is the job of middleJob, and
// the other has worlds 0 to 4 with 20 ranks each, all of them on host 2.
func ofTwoJobs(n job.Number) (*Worlds, *Origin) {
	var w Worlds
	o := w.Child(true, []HostEntry{{Index: 2}, {Index: 3}})
	other := jobOne + jobTwo - n
	for _, x := range []job.Number{jobOne, jobTwo} {
		if x == n {
			middleJob(&w, n)
			continue
		}
		for world := range 5 {
			w.Know(other, world, []job.Block{{Host: 2, Count: 20}})
		}
	}
	return &w, o
}

// reachesAJob reports messages of childSays that are about a job, and whose header is not
// refused for another reason.
func reachesAJob(k tree.Kind, want string) bool {
	return (kinds[k].of == ofJob || kinds[k].of == ofEither) && !strings.Contains(want, "sends it") && !strings.Contains(want, "for no host")
}

// A child speaks of the ranks of one job as if there were no other, be the other's number
// lower or higher, and also when the other is over.
func TestAJobSaysNothingOfAnother(t *testing.T) {
	for name, x := range childSays {
		if !reachesAJob(x.kind, x.want) {
			continue
		}
		for _, n := range []job.Number{jobOne, jobTwo} {
			for _, over := range []bool{false, true} {
				w, o := ofTwoJobs(n)
				if over {
					w.ForgetJob(jobOne + jobTwo - n)
				}
				err := sayIn(o, n, x.kind, x.world, x.message)
				if x.want == "" {
					require.NoError(t, err, name)
				} else {
					require.ErrorContains(t, err, x.want, name)
				}
			}
		}
	}
}

// Facts that come once come once in each job.
func TestFactsOfTwoJobs(t *testing.T) {
	for kind, message := range map[tree.Kind]any{
		KindStarted: Started{Ranks: 4}, KindDone: Done{Ranks: 4}, KindDrained: nil, KindFailure: killedRank,
	} {
		var w Worlds
		o := w.Child(true, []HostEntry{{Index: 2}, {Index: 3}})
		for _, n := range []job.Number{jobOne, jobTwo} {
			middleJob(&w, n)
			require.NoError(t, sayIn(o, n, kind, 0, message), kinds[kind].name)
		}
		for _, n := range []job.Number{jobOne, jobTwo} {
			require.ErrorContains(t, sayIn(o, n, kind, 0, message), "said twice", kinds[kind].name)
		}
	}
}

// A child may say as much of a job as this has ranks: those of others do not count. All
// together they bound its words about the tree, and about jobs that are over.
func TestBoundsAreAJobs(t *testing.T) {
	var w Worlds
	o := w.Child(false, []HostEntry{{Index: 0}})
	w.Know(jobOne, 0, []job.Block{{Count: 1000}})
	w.Know(jobTwo, 0, []job.Block{{Count: 1}})
	w.Know(jobTwo, 1, []job.Block{{Count: 2}})
	for range 2 {
		require.Equal(t, reasons.base+3*reasons.rank, reasons.limit(o, jobTwo))
		require.Equal(t, reasons.base+1003*reasons.rank, reasons.limit(o, job.TreeItself))
		w.ForgetJob(jobOne)
		require.Equal(t, reasons.base+1003*reasons.rank, reasons.limit(o, jobOne))
	}
	require.NoError(t, say(o, KindProgress, 0, Progress{Ranks: 1003, Host: job.NoHost}))
	require.ErrorContains(t, sayIn(o, jobTwo, KindWaits, 0, Waits{Living: 4}), "4 ranks of 3 live")
	w.Know(jobTwo+1, 0, []job.Block{{Count: 500}})
	require.Equal(t, 1003, o.most, "jobs that follow each other do not add up")
}

// Messages about a job that has ended may have been under way: whatever they say, they are
// dropped, and the link stays. A tree that knows nothing of a job by its number, as it began
// elsewhere, takes it for one that is over.
func TestLateMessagesOfAJob(t *testing.T) {
	for name, x := range childSays {
		if !reachesAJob(x.kind, x.want) || kinds[x.kind].of == ofEither {
			continue
		}
		for _, n := range []job.Number{jobOne, jobTwo} {
			w, o := ofTwoJobs(n)
			w.ForgetJob(n)
			require.ErrorIs(t, sayIn(o, n, x.kind, x.world, x.message), errJobOver, name)
		}
		var w Worlds
		o := w.Child(true, []HostEntry{{Index: 2}, {Index: 3}})
		middleJob(&w, jobTwo)
		require.ErrorIs(t, sayIn(o, jobOne, x.kind, x.world, x.message), errJobOver, name)
	}
}

// Of a job that is over a child's own words for the user are heard, about its hosts.
func TestLateNotes(t *testing.T) {
	w, o := ofTwoJobs(jobOne)
	w.ForgetJob(jobOne)
	require.NoError(t, sayIn(o, jobOne, KindNote, 0, Note{Host: 3, Text: "late"}))
	require.ErrorContains(t, sayIn(o, jobOne, KindNote, 0, Note{Host: 1, Text: "late"}), "n1 is not below it")
}

// Jobs that never were are none to speak of.
func TestJobsThatDoNotExist(t *testing.T) {
	for name, x := range childSays {
		if !reachesAJob(x.kind, x.want) {
			continue
		}
		w, o := ofTwoJobs(jobOne)
		require.ErrorContains(t, sayIn(o, 7, x.kind, x.world, x.message), "job 7 does not exist there", name)
		w.ForgetJob(jobTwo)
		require.ErrorContains(t, sayIn(o, jobTwo+1, x.kind, x.world, x.message), "job 3 does not exist there", name)
		require.NotContains(t, o.jobs, job.Number(7))
	}
}

// A job is known before its launch, with no ranks: agents may have failed.
func TestAJobBeforeItsLaunch(t *testing.T) {
	var w Worlds
	o := w.Child(true, []HostEntry{{Index: 2}, {Index: 3}})
	lost := job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 3}
	require.ErrorContains(t, say(o, KindFailure, 0, lost), "job 1 does not exist there")
	w.KnowJob(jobOne)
	require.NoError(t, say(o, KindFailure, 0, lost))
	require.ErrorContains(t, say(o, KindFailure, 0, killedRank), "world 0 does not exist there")
}

// A child whose job has ended keeps its link. Its late messages are not handed over, those
// of the other job are, right behind them.
func TestLateMessagesAreDropped(t *testing.T) {
	near, remote := memlink.Pair()
	events, printed := make(chan Event, 100), make(chan tree.Header, 100)
	var inbox *Inbox
	inbox = NewInbox(func() {
		for _, e := range inbox.Take(nil) {
			events <- e
		}
	})
	w, o := ofTwoJobs(jobTwo)
	e := NewEdge(near, 0, o, inbox, func(h tree.Header, _ []byte) { printed <- h }, nil)
	defer e.Close()
	send := func(n job.Number, k tree.Kind, body []byte) {
		h := tree.Header{Kind: k, Job: n, To: tree.Launcher, From: tree.Launcher}
		_, err := tree.Fragments(nil, h, body, link.MaxFrameOf(kinds[k].stream), func(f []byte) error { return remote.Send(kinds[k].stream, f) })
		require.NoError(t, err)
	}
	w.ForgetJob(jobOne)
	for range 20 {
		send(jobOne, KindFailure, Encode(killedRank))
		send(jobOne, KindStarted, []byte("no CBOR"))
		send(jobOne, KindOutput, output(9, 9, stdio.Stdout))
		send(jobOne, KindBoard, make([]byte, 4<<20))
	}
	send(jobTwo, KindFailure, Encode(killedRank))
	send(jobTwo, KindOutput, output(0, 4, stdio.Stdout))
	send(jobTwo, KindBoard, []byte("x"))
	var got []tree.Kind
	for range 2 {
		m, ok := (<-events).(Message)
		require.True(t, ok)
		require.Equal(t, jobTwo, m.Header.Job)
		got = append(got, m.Header.Kind)
	}
	require.ElementsMatch(t, []tree.Kind{KindFailure, KindBoard}, got)
	require.Equal(t, jobTwo, (<-printed).Job)
	require.Empty(t, events)
	require.Empty(t, printed)
	require.EqualValues(t, maxUnderway, o.spare.Load())
}

// The end of a job lets go of all that was kept of it, on the node and for each child, and
// late messages bring nothing back.
func TestAJobLeavesNothing(t *testing.T) {
	var w Worlds
	root := w.Child(true, []HostEntry{{Index: 2}, {Index: 3}})
	beside := w.Child(false, []HostEntry{{Index: 4}})
	var kept []weak.Pointer[job.Block]
	var names []weak.Pointer[job.HostIndex]
	for n := jobOne; n < 50; n++ {
		blocks := []job.Block{{Host: 2, Count: 1000}, {Host: 4, First: 1000, Count: 1}}
		nodes := []job.HostIndex{2, 4, 5, 6, 7, 8}
		kept, names = append(kept, weak.Make(&blocks[0])), append(names, weak.Make(&nodes[0]))
		w.Rules(n, modelRules)
		w.CallNodes(n, nodes, "a,b,c,d,e,f")
		w.Know(n, 0, blocks)
		w.Know(n, 1, blocks)
		w.Forget(n, 1)
		require.Equal(t, "c", w.Called(5))
		for r := range job.Rank(1000) {
			require.NoError(t, sayIn(root, n, KindFailure, 0, job.Failure{Class: job.CauseExit, Rank: r, Host: 2, Code: 1}))
		}
		_, err := hear(root, link.KVS, tree.Header{Kind: KindHome, Job: n, To: 4, From: 2}, []byte("\x07\x00\x01k"))
		require.NoError(t, err)
		w.ForgetJob(n)
		for late := jobOne; late <= n; late++ {
			for _, o := range []*Origin{root, beside} {
				require.ErrorIs(t, sayIn(o, late, KindFailure, 0, killedRank), errJobOver)
				require.ErrorIs(t, sayIn(o, late, KindBoard, 0, []byte("x")), errJobOver)
			}
			w.Forget(late, 0)
		}
		require.Equal(t, another, w.Called(5))
		require.Empty(t, w.jobs)
		require.Empty(t, root.jobs)
		require.Empty(t, beside.jobs)
		require.Equal(t, []int{0, 0}, []int{root.ranks, beside.ranks})
		require.Equal(t, []int{2000, 2}, []int{root.most, beside.most})
	}
	runtime.GC()
	for i := range kept {
		require.Nil(t, kept[i].Value(), fmt.Sprint("job ", i+1))
		require.Nil(t, names[i].Value(), fmt.Sprint("job ", i+1))
	}
	require.False(t, errors.Is(sayIn(root, 50, KindBoard, 0, []byte("x")), errJobOver))
}

// A job that ends while its messages are judged is as over as any.
func TestAJobEndsWhileAChildSpeaks(t *testing.T) {
	var w Worlds
	o := w.Child(true, []HostEntry{{Index: 2}, {Index: 3}})
	for n := jobOne; n < 200; n++ {
		middleJob(&w, n)
		var speaking sync.WaitGroup
		for _, k := range []tree.Kind{KindBoard, KindProgress, KindDone} {
			speaking.Go(func() { // ends with the job, or once it has said that it has ended
				for err := error(nil); err == nil && w.knows(n); {
					err = sayIn(o, n*about(k), k, 0, map[tree.Kind]any{KindBoard: []byte("x"), KindProgress: Progress{Host: 3}, KindDone: Done{}}[k])
				}
			})
		}
		w.ForgetJob(n)
		speaking.Wait()
		require.Empty(t, o.jobs)
		require.Zero(t, o.ranks)
	}
}

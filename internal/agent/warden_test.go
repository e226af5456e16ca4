package agent

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/files"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/tree"
)

// lostWarden is a warden that has died and left something behind that cannot be
// ended.
type lostWarden struct{ Warden }

var (
	errGone = fmt.Errorf("%w (pid 7): signal: killed", proc.ErrLost)
	errLeft = errors.New("still running: pid 8")
)

func (lostWarden) Signal(job.Number, syscall.Signal) error           { return errGone }
func (lostWarden) SignalWorld(job.Number, int, syscall.Signal) error { return errGone }
func (lostWarden) Kill(job.Number, time.Duration) error              { return errGone }
func (lostWarden) Sweep(context.Context, func(pid int) bool) error   { return errLeft }

// endOf is the end of a launched job's agent with a warden, and ranks that wait
// and run.
func endOf(waiting, running int) (node ending.Node, own ending.Job) {
	node.Ranged()
	node.WardenUp()
	node.Launched()
	own.RanksCome(&node, waiting+running)
	own.RanksHanded(running)
	return node, own
}

// agentOf returns an agent with one rank of a warden, and what it tells its
// parent over the control stream.
func agentOf(t *testing.T, w Warden) (*Agent, *world, <-chan overlay.Message) {
	t.Helper()
	near, remote := memlink.Pair()
	said := make(chan overlay.Message, 100)
	var far *overlay.Inbox
	far = overlay.NewInbox(func() {
		for _, e := range far.Take(nil) {
			if m, ok := e.(overlay.Message); ok {
				said <- m
			}
		}
	})
	above := overlay.NewEdge(remote, 0, childWith(threeRanks...), far, func(tree.Header, []byte) {}, nil)
	parent := overlay.NewEdge(near, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), nil, nil)
	t.Cleanup(func() { parent.Close(); above.Close() })
	a := joined(&Agent{parent: parent, subtree: &overlay.Subtree{}, inbox: overlay.NewInbox(func() {}), now: time.Now, job: &Job{launch: &overlay.Launch{}}, life: life{warden: w}})
	a.life.end, a.job.end = endOf(0, 1)
	a.job.libraries = a.job.newLibraries()
	a.job.staging.files = files.New(func(string, error) {})
	a.output = newTestOutput(t)
	first := &world{ranks: []*rank{{}}, living: 1, launched: true, mpi: &fakeLibraries{}}
	first.done.Merge = (*overlay.Done).Merge
	first.done.Expect(1)
	a.job.worlds = map[int]*world{0: first}
	return a, first, said
}

// served makes the servers of a world, all of whose ranks are on one node.
func served(t *testing.T, a *Agent, w *world) {
	t.Helper()
	w.spec.Size, w.spec.KVSName, w.nodes, w.spec.Blocks = len(w.ranks), "k", []job.HostIndex{0}, []job.Block{{Count: len(w.ranks)}}
	w.byRank = map[job.Rank]*rank{}
	for _, r := range w.ranks {
		r.world, w.byRank[r.Number] = w, r
	}
	a.root, a.job.launch.Cache, a.job.launch.Universe = true, cache.HCMAB, -1
	require.NoError(t, a.job.makeServers(w))
	for _, s := range w.servers.all {
		require.NoError(t, s.Start())
	}
}

// A command that finds the warden dead is not the fault of the parent that gave
// it: the node reports what it has lost and stays in the tree.
func TestACommandFindsTheWardenDead(t *testing.T) {
	for name, command := range map[string]func(a *Agent, w *world) error{
		"signal":    func(a *Agent, _ *world) error { return a.job.signal(overlay.Signal{Number: int(syscall.SIGUSR1)}) },
		"end world": func(a *Agent, w *world) error { return a.job.endWorld(w) },
	} {
		t.Run(name, func(t *testing.T) {
			a, w, said := agentOf(t, lostWarden{})
			require.NoError(t, command(a, w))
			require.True(t, a.life.end.WardenGone())
			require.False(t, a.life.end.Over())
			m := <-said
			require.Equal(t, overlay.KindFailure, m.Header.Kind)
			f, err := overlay.Decode[job.Failure](m.Body)
			require.NoError(t, err)
			require.Contains(t, f.Text, errGone.Error())
			require.Contains(t, f.Text, errLeft.Error())
			require.Equal(t, overlay.KindDone, (<-said).Header.Kind)
		})
	}
}

// What cannot be ended is named, also where the job ends anyhow.
func TestWhatCannotBeEndedIsNamed(t *testing.T) {
	for name, end := range map[string]func(a *Agent){
		"by the warden": func(a *Agent) { a.life.wardenEvents([]proc.Event{proc.Gone{Job: job.Cold, Text: errLeft.Error()}}) },
		"by the sweep":  func(a *Agent) { a.life.wardenLost(errGone) },
	} {
		t.Run(name, func(t *testing.T) {
			a, _, said := agentOf(t, lostWarden{})
			a.job.end.KillOrdered(&a.life.end, 0)
			end(a)
			m := <-said
			require.Equal(t, overlay.KindNote, m.Header.Kind)
			n, err := overlay.Decode[overlay.Note](m.Body)
			require.NoError(t, err)
			require.Equal(t, overlay.Note{Level: overlay.NoteAlways, Text: errLeft.Error()}, n)
		})
	}
}

// askedWarden notes what signals it is asked for.
type askedWarden struct {
	lostWarden
	asked []syscall.Signal
}

func (w *askedWarden) Signal(_ job.Number, s syscall.Signal) error {
	w.asked = append(w.asked, s)
	return nil
}

func (*askedWarden) OpenJob(job.Number) error    { return nil }
func (*askedWarden) Next() ([]proc.Event, error) { return nil, errGone }
func (*askedWarden) BeatEvery() time.Duration    { return 0 }

// A stop that overtakes the range, the warden or the launch is for the ranks
// that come then; other signals are for those that run.
func TestAStopComesBeforeTheRanks(t *testing.T) {
	const stop, cont, other = syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGUSR1
	for name, x := range map[string]struct{ before, after, want []syscall.Signal }{
		"before the range":   {[]syscall.Signal{stop, other}, nil, []syscall.Signal{stop}},
		"before the launch":  {nil, []syscall.Signal{stop, other}, []syscall.Signal{stop}},
		"in between":         {[]syscall.Signal{stop}, []syscall.Signal{cont}, []syscall.Signal{stop, cont}},
		"and was taken back": {[]syscall.Signal{stop, cont}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, _, _ := agentOf(t, nil)
			a.now = time.Now
			a.job.launch, a.subtree, a.life.end, a.job.end = nil, nil, ending.Node{}, ending.Job{}
			send := func(signals []syscall.Signal) {
				for _, s := range signals {
					require.NoError(t, a.fromParent(overlay.Message{
						Header: tree.Header{Kind: overlay.KindSignal},
						Value:  overlay.Signal{Number: int(s)},
					}))
				}
			}
			send(x.before)
			a.subtree = &overlay.Subtree{}
			w := &askedWarden{}
			a.life.wardenUp(wardenUp{warden: w})
			send(x.after)
			require.Equal(t, x.want, w.asked)
		})
	}
}

// A warden that names what it cannot end is heard before it counts as stuck.
func TestTheWardenSpeaksFirst(t *testing.T) {
	require.GreaterOrEqual(t, wardenTimeout, proc.KillLimit+time.Second)
}

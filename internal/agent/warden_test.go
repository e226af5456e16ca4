package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/agenttest"
	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
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

// joined has the parts of an agent know it, and gives it a job, which is closed after the test.
func joined(t *testing.T, a *Agent) *Agent {
	t.Helper()
	a.join()
	var err error
	a.cold, err = a.begin(job.Cold)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, j := range a.jobs.list() {
			j.Leave()
			j.Close()
			j.Dispose()
		}
	})
	return a
}

// agentOf returns an agent with one rank of a warden, and what it tells its
// parent over the control stream.
func agentOf(t *testing.T, w Warden) (*Agent, <-chan overlay.Message) {
	t.Helper()
	parent, said := agenttest.Parent(t)
	a := joined(t, &Agent{parent: parent, subtree: &overlay.Subtree{}, inbox: overlay.NewInbox(func() {}), now: time.Now, life: life{warden: w}})
	a.life.end, *a.cold.End() = agenttest.EndOf(0, 1)
	a.cold.Ranged()
	return a, said
}

// What cannot be ended is named, also where the job ends anyhow.
func TestWhatCannotBeEndedIsNamed(t *testing.T) {
	for name, end := range map[string]func(a *Agent){
		"by the warden": func(a *Agent) { a.life.wardenEvents([]proc.Event{proc.Gone{Job: job.Cold, Text: errLeft.Error()}}) },
		"by the sweep":  func(a *Agent) { a.life.wardenLost(errGone) },
	} {
		t.Run(name, func(t *testing.T) {
			a, said := agentOf(t, lostWarden{})
			a.cold.End().KillOrdered(&a.life.end, 0)
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
			a, _ := agentOf(t, nil)
			a.now = time.Now
			a.subtree, a.life.end, *a.cold.End() = nil, ending.Node{}, ending.Job{}
			send := func(signals []syscall.Signal) {
				for _, s := range signals {
					require.NoError(t, a.fromParent(overlay.Message{
						Header: tree.Header{Kind: overlay.KindSignal, Job: job.Cold},
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

// A warden that is lost is told of, with what it left behind.
func TestALostWardenIsToldOf(t *testing.T) {
	a, said := agentOf(t, lostWarden{})
	a.life.wardenLost(errGone)
	require.True(t, a.life.end.WardenGone())
	require.False(t, a.life.end.Over())
	require.Zero(t, a.cold.End().Living())
	f, err := overlay.As[job.Failure](<-said)
	require.NoError(t, err)
	require.Contains(t, f.Text, errGone.Error())
	require.Contains(t, f.Text, errLeft.Error())
}

// The launcher is told of a lost warden in each job, one that comes later, too.
func TestALostWardenIsToldOfInLaterJobs(t *testing.T) {
	a, _ := agentOf(t, lostWarden{})
	near, far := memlink.Pair()
	a.parent = overlay.NewEdge(near, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), nil, nil)
	defer a.parent.Close()
	a.life.wardenLost(errGone)
	_, err := a.begin(2)
	require.NoError(t, err)
	for _, n := range []job.Number{1, 2} {
		frame, err := far.Recv(link.Control)
		require.NoError(t, err)
		h, body, err := tree.ParseHeader(frame)
		require.NoError(t, err)
		f, err := overlay.Decode[job.Failure](body)
		require.NoError(t, err)
		require.Equal(t, n, h.Job)
		require.Contains(t, f.Text, errGone.Error())
	}
}

// launch has an agent learn of its first job, with a rank on each of some hosts.
func launch(t *testing.T, a *Agent, hosts ...job.HostIndex) {
	t.Helper()
	launchJob(t, a, job.Cold, hosts...)
}

// launchJob does so for a job of a number.
func launchJob(t *testing.T, a *Agent, n job.Number, hosts ...job.HostIndex) {
	t.Helper()
	l := overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB}, Nodes: slices.Sorted(slices.Values(hosts)), Universe: -1}
	l.World = overlay.World{Size: len(hosts), KVSName: "k", Apps: make([]job.App, 1)}
	for rank, h := range hosts {
		l.World.Blocks = append(l.World.Blocks, job.Block{Host: h, First: job.Rank(rank), Count: 1})
	}
	require.NoError(t, a.jobs.find(n).FromParent(overlay.Message{From: tree.Up, Header: tree.Header{Kind: overlay.KindLaunch, Job: n}, Value: l}))
}

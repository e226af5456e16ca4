package agent

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// Numbers of a table's jobs are known for ever as over, in whatever order they come and go.
func TestTable(t *testing.T) {
	a := joined(t, &Agent{})
	begin := func(n job.Number) *jobs.Job {
		t.Helper()
		j, err := a.begin(n)
		require.NoError(t, err)
		return j
	}
	third, second := begin(3), begin(2)
	require.Equal(t, []*jobs.Job{a.cold, second, third}, a.jobs.list())
	require.Same(t, second, a.jobs.find(2))
	require.False(t, a.jobs.over(4), "it has not come")
	a.jobs.end(2)
	require.Nil(t, a.jobs.find(2))
	require.Same(t, second, a.jobs.here(2), "its warden may have something to say")
	require.Equal(t, []*jobs.Job{a.cold, third}, a.jobs.open())
	a.jobs.forget(2)
	require.Nil(t, a.jobs.here(2))
	a.jobs.end(5) // none of this node
	for _, n := range []job.Number{1, 3} {
		a.jobs.end(n)
		a.jobs.forget(n)
	}
	for n, over := range []bool{true, true, true, true, false, true, false} {
		require.Equal(t, over, a.jobs.over(job.Number(n)), "job %d", n)
	}
	require.Len(t, a.jobs.ended, 1, "numbers without a gap take no memory")
	for _, j := range []*jobs.Job{a.cold, second, third} {
		j.Leave()
		j.Close()
		j.Dispose()
	}
}

// The reader of a job's file waits for the job, unless that is over; the end of the node lets
// all go.
func TestATableIsWaitedFor(t *testing.T) {
	a := joined(t, &Agent{})
	found := make(chan *jobs.Job)
	await := func(n job.Number) { go func() { found <- a.jobs.await(n) }() } // ends when the job has begun, or is over
	await(1)
	require.Same(t, a.cold, <-found)
	await(2)
	second, err := a.begin(2)
	require.NoError(t, err)
	require.Same(t, second, <-found)
	await(3)
	a.jobs.end(3)
	require.Nil(t, <-found)
	await(4)
	a.jobs.close()
	require.Nil(t, <-found)
}

// The first message of the parent begins a job, whatever it is; a child begins none.
func TestAJobBeginsWithItsFirstMessage(t *testing.T) {
	a, _ := agentOf(t, &askedWarden{})
	withChildren(t, a, []overlay.HostEntry{{Index: 1, Name: "n1"}})
	kill := func(n job.Number) error {
		return a.fromParent(overlay.Message{From: tree.Up, Header: tree.Header{Kind: overlay.KindKill, Job: n}, Value: overlay.Kill{}})
	}
	require.NoError(t, a.fromChild(overlay.Message{From: 0, Header: tree.Header{Kind: overlay.KindStalled, Job: 3, From: 1}}))
	require.Nil(t, a.jobs.find(3))
	require.NoError(t, kill(3))
	require.True(t, a.jobs.find(3).End().Killed())
	require.False(t, a.cold.End().Killed())
	require.NoError(t, kill(2), "streams overtake each other")
	require.True(t, a.jobs.find(2).End().Killed())
	a.jobs.end(3)
	require.NoError(t, kill(3))
	require.Nil(t, a.jobs.find(3))
	require.ErrorContains(t, a.fromParent(overlay.Message{From: tree.Up, Header: tree.Header{Kind: overlay.KindHello}}), "unexpected message")
}

// The end of a job is passed on, whether it was here or not, and once; without a warden it is
// forgotten at once.
func TestTheEndOfAJobIsPassedOn(t *testing.T) {
	a, _ := agentOf(t, nil)
	a.life.end = ending.Node{}
	children := withChildren(t, a, []overlay.HostEntry{{Index: 1, Name: "n1"}})
	over := func(n job.Number) {
		require.NoError(t, a.fromParent(overlay.Message{From: tree.Up, Header: tree.Header{Kind: overlay.KindJobOver, Job: n}}))
	}
	for _, n := range []job.Number{1, 5, 1, 5, 3} {
		over(n)
	}
	require.Empty(t, a.jobs.list())
	for _, n := range []job.Number{1, 5, 3} {
		frame, err := children[0].Recv(link.KVS)
		require.NoError(t, err)
		h, _, err := tree.ParseHeader(frame)
		require.NoError(t, err)
		require.Equal(t, tree.Header{Kind: overlay.KindJobOver, Job: n, To: tree.Everyone, From: tree.Launcher}, h)
	}
	a.disposals.Wait()
}

// A child that owes a job's ranks is not cut off when the time after the kill of another is over.
func TestChildrenOweByJob(t *testing.T) {
	a, _ := agentOf(t, nil)
	a.life.end = ending.Node{}
	withChildren(t, a, []overlay.HostEntry{{Index: 1, Name: "n1"}})
	a.life.tearDown.Deadline = overlay.NewDeadline(overlay.Common{}, 0, func() {})
	defer a.life.tearDown.stop()
	_, err := a.begin(2)
	require.NoError(t, err)
	for _, n := range []job.Number{1, 2} {
		launchJob(t, a, n, 1)
	}
	late := func(n job.Number) {
		a.jobs.find(n).Kill(0)
		a.life.tearDown.killed[n].Later(0)
		a.life.childrenLate()
	}
	require.NoError(t, a.fromChild(overlay.Message{From: 0, Header: tree.Header{Kind: overlay.KindDone, Job: 1, From: 1}, Value: overlay.Done{Ended: 1}}))
	a.outputOf(0)(tree.Header{Kind: overlay.KindDrained, Job: 1}, nil)
	late(1)
	require.True(t, a.subtree.Live(0))
	late(2)
	require.False(t, a.subtree.Live(0))
}

// The files of all jobs have to be had at once.
func TestJobsNeedFiles(t *testing.T) {
	a := joined(t, &Agent{subtree: &overlay.Subtree{}})
	const many = 1 << 40
	x := ofJob{a, 2}
	x.NeedFiles(1)
	require.NoError(t, a.machine.tooFew)
	ofJob{a, job.Cold}.NeedFiles(many)
	require.ErrorContains(t, a.machine.tooFew, fmt.Sprintf("the agent of 0 ranks needs %d open files", ownFiles+4+1+many))
	a.forget(a.cold)
	x.NeedFiles(1)
	require.NoError(t, a.machine.tooFew)
	a.disposals.Wait()
}

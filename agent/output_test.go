package agent

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link/memlink"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stdio"
	"github.com/golaunch/golaunch/tree"
)

// newTestOutput returns an output of an agent without ranks, the kinds of what it
// sends, and when no rank's pipe is open.
func newTestOutput(t *testing.T) (o *output, sent <-chan tree.Kind, idle <-chan bool) {
	t.Helper()
	near, remote := memlink.Pair()
	kinds, quiet := make(chan tree.Kind, 100), make(chan bool, 100)
	inbox := overlay.NewInbox(func() {})
	far := overlay.NewEdge(remote, 0, inbox, func(h tree.Header, _ []byte) { kinds <- h.Kind }, nil)
	parent := overlay.NewEdge(near, tree.Up, inbox, nil, nil)
	o, err := newOutput(parent, func() { quiet <- true })
	require.NoError(t, err)
	t.Cleanup(func() { o.close(); parent.Close(); far.Close() })
	return o, kinds, quiet
}

func drainedHeader(world uint16) tree.Header {
	return tree.Header{Kind: overlay.KindDrained, World: world, To: tree.Neighbor, From: tree.Launcher}
}

// TestALostChildIsDrainedOnce has a child that had no more output get lost:
// what its sibling still writes comes before the end.
func TestALostChildIsDrainedOnce(t *testing.T) {
	o, sent, idle := newTestOutput(t)
	o.open(0, []tree.Slot{0, 1})
	o.complete(0)
	<-idle // only the children are waited for
	o.child(0)(drainedHeader(0), nil)
	o.drain(0, 0) // lost
	o.child(1)(tree.Header{Kind: overlay.KindOutput}, overlay.AppendRecord(nil, job.RankID{}, stdio.Stdout, []byte("last words\n")))
	o.child(1)(drainedHeader(0), nil)
	require.Equal(t, overlay.KindOutput, <-sent)
	require.Equal(t, overlay.KindDrained, <-sent)
}

// TestAChildMayBeDrainedEarly has a child say that it has no more output of a
// world before this agent has opened it.
func TestAChildMayBeDrainedEarly(t *testing.T) {
	o, sent, _ := newTestOutput(t)
	o.child(1)(drainedHeader(0), nil)
	o.open(0, []tree.Slot{1})
	o.complete(0)
	require.Equal(t, overlay.KindDrained, <-sent)
}

// TestALostChildHasStartedOnce has a child get lost that had told that its ranks
// run: its sibling is still waited for.
func TestALostChildHasStartedOnce(t *testing.T) {
	near, remote := memlink.Pair()
	said := make(chan overlay.Event, 100)
	var far *overlay.Inbox
	far = overlay.NewInbox(func() {
		for _, e := range far.Take(nil) {
			said <- e
		}
	})
	above := overlay.NewEdge(remote, 0, far, func(tree.Header, []byte) {}, nil)
	parent := overlay.NewEdge(near, tree.Up, overlay.NewInbox(func() {}), nil, nil)
	t.Cleanup(func() { parent.Close(); above.Close() })
	a := &Agent{parent: parent}
	a.output, _, _ = newTestOutput(t)
	peers := []tree.Slot{0, 1}
	w := &world{peers: peers, unheard: map[tree.Slot]bool{0: true, 1: true}}
	w.started.Merge = (*overlay.Started).Merge
	w.started.Expect(1 + len(peers))
	a.startedIf(w, w.started.Add(overlay.Started{})) // nothing is to start here
	a.childStarted(w, 0, overlay.Started{Ranks: 1})
	a.worldWithout(w, 0)
	a.childStarted(w, 1, overlay.Started{Ranks: 1})
	started, err := overlay.Decode[overlay.Started]((<-said).(overlay.Message).Body)
	require.NoError(t, err)
	require.Equal(t, 2, started.Ranks)
}

// TestAPipeIsCutOffWhileItIsWritten has a process outside the job hold a rank's
// pipe and write without end: like /dev/zero, it never runs dry.
func TestAPipeIsCutOffWhileItIsWritten(t *testing.T) {
	o, sent, idle := newTestOutput(t)
	o.open(0, nil)
	zero, err := syscall.Open("/dev/zero", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	o.mu.Lock()
	o.local[1] = source{fd: zero, tag: 1}
	o.worlds[0].local++
	o.mu.Unlock()
	o.complete(0)
	o.finish(func(int) bool { return true })
	<-idle
	for kind := range sent {
		if kind == overlay.KindDrained {
			break
		}
	}
}

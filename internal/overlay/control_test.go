package overlay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/tree"
)

// A kill is handed over however much of the neighbor that sent it waits to be passed on:
// one child that takes nothing must not make an honest agent above it look silent.
func TestAKillWaitsForNothingThatIsPassedOn(t *testing.T) {
	woken := make(chan struct{}, 1)
	inbox := NewInbox(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	up, above := memlink.Pair()
	down, stuck := memlink.Pair()
	defer stuck.Close() // it reads nothing
	parent := NewEdge(up, tree.Up, OfParent(), inbox, nil, nil)
	child := NewEdge(down, 0, middleChild(false), inbox, func(tree.Header, []byte) {}, nil)
	t.Cleanup(func() { parent.Close(); child.Close() })

	fill := tree.Header{Kind: KindBoard, Job: job.Cold, To: tree.Everyone, From: tree.Launcher}
	kill := tree.Header{Kind: KindKill, Job: job.Cold, To: tree.Everyone, From: tree.Launcher}
	_, err := tree.Fragments(nil, fill, make([]byte, roomBytes+1), link.MaxFrame, func(f []byte) error { return above.Send(link.KVS, f) })
	require.NoError(t, err)
	late := time.After(time.Minute)
	for passed := false; ; {
		select {
		case <-woken:
		case <-late:
			require.Fail(t, "the kill is held up")
		}
		for _, e := range inbox.Take(nil) {
			m, ok := e.(Message)
			require.True(t, ok, "%T", e)
			if m.Header.Kind == KindKill {
				require.True(t, passed)
				return
			}
			child.Pass(m)
			passed = true
			require.NoError(t, above.Send(link.Control, tree.AppendHeader(nil, kill)))
		}
	}
}

// Messages of Control that nobody takes are bounded, too: a sender that goes on is cut
// off.
func TestControlHasLittleRoom(t *testing.T) {
	const most = 2*controlBytes + 2*link.MaxControlFrame // one room here, one in the link
	near, remote := memlink.Pair()
	inbox := NewInbox(func() {})
	e := NewEdge(near, 0, middleChild(false), inbox, func(tree.Header, []byte) {}, nil)
	defer e.Close()
	note := Encode(Note{Host: 2, Text: string(make([]byte, link.MaxControlFrame-1<<10))})
	frame := append(tree.AppendHeader(nil, tree.Header{Kind: KindNote, To: tree.Launcher, From: 2}), note...)
	sent := 0
	for remote.Send(link.Control, frame) == nil {
		sent += len(frame)
		require.LessOrEqual(t, sent, most)
	}
	<-e.gone
	waited := 0
	for _, x := range inbox.Take(nil) {
		switch x := x.(type) {
		case Message:
			waited += len(x.Body)
		case EdgeEnded:
			require.ErrorContains(t, x.Err, "control frames were left unread")
		}
	}
	require.LessOrEqual(t, waited, controlBytes)
}

package launcher

import (
	"context"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/link/memlink"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stage"
	"github.com/golaunch/golaunch/tree"
)

// onlyLink is the pipe of an agent that nobody started.
type onlyLink struct {
	io.ReadWriter
}

func (onlyLink) Close() error        { return nil }
func (onlyLink) Diagnostics() string { return "" }
func (onlyLink) PeerAddr() string    { return "" }

// launchedRun is a launcher whose launch is on its way to one agent, and the
// agent's end of the link.
func launchedRun(t *testing.T) (*run, link.Link) {
	t.Helper()
	o := options(t, "a", 2)
	o.Stdin = StdinNone
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	near, agent := memlink.Pair()
	inbox := overlay.NewInbox(func() {})
	source, err := stage.Self()
	require.NoError(t, err)
	starter := overlay.NewStarter(context.Background(), nil, source, overlay.Common{}, inbox, nil)
	family := overlay.NewFamily(starter, overlay.Common{}, inbox, func(tree.Slot) overlay.Sink { return func(tree.Header, []byte) {} })
	family.Join(overlay.Joined{Link: near, Pipe: onlyLink{}})
	t.Cleanup(func() { agent.Close(); family.Close() })
	return &run{
		Options: *o, plan: p, worlds: map[int]*world{0: {plan: p}},
		family: family, staging: &staging{}, report: &reporter{w: io.Discard},
	}, agent
}

// What is to be passed on to ranks of which some do not run yet reaches all of
// them, in order.
func TestSignalsBeforeEveryRankRuns(t *testing.T) {
	r, agent := launchedRun(t)
	r.signal(syscall.SIGUSR1)
	r.signal(syscall.SIGINT)
	r.signal(syscall.SIGUSR1) // of one kind: once
	require.False(t, r.over)
	require.NoError(t, r.worldStarted(0, overlay.Started{Ranks: 2}))
	r.signal(syscall.SIGUSR2)
	var got []syscall.Signal
	for len(got) < 3 {
		frame, err := agent.Recv(link.Control)
		require.NoError(t, err)
		h, body, err := tree.ParseHeader(frame)
		require.NoError(t, err)
		require.Equal(t, overlay.KindSignal, h.Kind)
		s, err := overlay.Decode[overlay.Signal](body)
		require.NoError(t, err)
		got = append(got, syscall.Signal(s.Number))
	}
	require.Equal(t, []syscall.Signal{syscall.SIGUSR1, syscall.SIGINT, syscall.SIGUSR2}, got)
}

// Output that comes after the first that could not be written neither repeats the
// message nor has the whole tree told once more to kill.
func TestOutputThatCannotBeWrittenIsToldOnce(t *testing.T) {
	r, agent := launchedRun(t)
	var said strings.Builder
	r.report.w = &said
	r.killed, r.decided, r.status = true, true, job.ExitINT // interrupted twice, say
	r.stdin = &stdinPump{}
	for range 3 {
		r.handle(outputFailed{syscall.EPIPE})
	}
	r.passOn(syscall.SIGUSR1) // what comes next
	for _, kind := range []tree.Kind{overlay.KindKill, overlay.KindSignal} {
		frame, err := agent.Recv(link.Control)
		require.NoError(t, err)
		h, _, err := tree.ParseHeader(frame)
		require.NoError(t, err)
		require.Equal(t, kind, h.Kind)
	}
	require.Equal(t, "golaunch: the output cannot be written: broken pipe\n", said.String())
	require.Equal(t, job.ExitINT, r.status)
}

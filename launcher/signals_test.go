package launcher

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher/trees"
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
func launchedRun(t *testing.T) (*testRun, link.Link) {
	t.Helper()
	o := options(t, "a", 2)
	o.Input.Stdin = StdinNone
	o.attempt.passphrases = trees.NewPassphrases()
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	r := &testRun{run: &run{
		number: job.Cold, options: *o, plan: p,
		input: input{pump: &stdinPump{}}, staging: &staging{}, report: &reporter{w: io.Discard},
	}}
	r.join()
	r.worlds.launch(p)
	r.agents = trees.New(r.run, r.report)
	r.tree = r.agents
	c := r.treeConfig()
	c.Kind = bootstrap.Kind{Open: func(context.Context, bootstrap.Job) (*bootstrap.Opened, error) { return &bootstrap.Opened{}, nil }}
	c.InOrder = func([]overlay.HostEntry) []overlay.HostEntry { return nil } // the agent is there already
	require.NoError(t, r.agents.Open(context.Background(), c, func(tree.Header, []byte) {}))
	near, agent := memlink.Pair()
	r.handle(overlay.Joined{Link: near, Host: c.Entries[0], Pipe: onlyLink{}})
	r.agents.Begin()
	r.agents.Know(r.number, ownWorld, p.Blocks)
	t.Cleanup(func() { agent.Close(); r.agents.Close() })
	return r, agent
}

// up has the agent be ready, of which the job makes nothing.
func (r *testRun) up() {
	r.decided = true
	r.handle(overlay.Message{Stream: link.Service, Header: tree.Header{Kind: overlay.KindReady}, Value: overlay.Ready{Live: []overlay.NodeInfo{{}}}})
	r.decided = false
}

// testRun is a job, and its tree, which a test looks into.
type testRun struct {
	*run
	agents *trees.Tree
}

// handle handles an event as cold does.
func (r *testRun) handle(e overlay.Event) { (&cold{job: r.run, tree: r.agents}).handle(e) }

// Signals that come before all ranks run reach all of them, in order.
func TestSignalsBeforeEveryRankRuns(t *testing.T) {
	r, agent := launchedRun(t)
	r.signals.act(syscall.SIGUSR1)
	r.signals.act(syscall.SIGINT)
	r.signals.act(syscall.SIGUSR1) // of one kind: once
	require.False(t, r.over)
	require.NoError(t, r.worlds.noteStarted(0, overlay.Started{Ranks: 2}))
	r.signals.act(syscall.SIGUSR2)
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

// A user who interrupts a long start, and sees its state, is told which hosts it waited
// for.
func TestAnInterruptTellsWhoWasAwaited(t *testing.T) {
	for _, c := range []struct {
		watched bool
		want    string
	}{
		{false, ""},
		{true, "golaunch: at that time: 0 of 1 node up, 0 of 2 ranks; waiting for a (4 s: connect)\n"},
	} {
		r, _ := launchedRun(t)
		var said strings.Builder
		r.report.w, r.worlds.own = &said, nil
		if c.watched {
			r.options.Ending.Timeout = time.Minute
		}
		r.handle(overlay.Message{Header: tree.Header{Kind: overlay.KindProgress}, Value: overlay.Progress{Host: 0, Age: 4 * time.Second, Step: bootstrap.Connect}})
		r.signals.act(syscall.SIGINT)
		require.Equal(t, "golaunch: interrupted before the ranks ran: the job is ended\n"+c.want, said.String())
	}
}

// Output that comes after the first that could not be written neither repeats the
// message nor has the whole tree told once more to kill.
func TestOutputThatCannotBeWrittenIsToldOnce(t *testing.T) {
	r, agent := launchedRun(t)
	var said strings.Builder
	r.report.w = &said
	r.killed, r.decided, r.status = true, true, job.ExitINT // interrupted twice, say
	r.input.pump = &stdinPump{}
	for range 3 {
		r.handle(outputFailed{syscall.EPIPE})
	}
	r.signals.passOn(syscall.SIGUSR1) // the next message
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

// timeout(1) signals golaunch and then its whole group: two signals of one kind
// within a second are one demand. Of two kinds they are two, and a context that ends
// counts always.
func TestDemandsWithinASecondAreOne(t *testing.T) {
	var d demands
	begin := time.Unix(1, 0)
	for _, x := range []struct {
		s     syscall.Signal
		after time.Duration
		count int
	}{
		{syscall.SIGTERM, 0, 1}, {syscall.SIGTERM, 0, 0}, {syscall.SIGTERM, 999 * time.Millisecond, 0},
		{syscall.SIGTERM, time.Second, 2}, {syscall.SIGTERM, 1500 * time.Millisecond, 0}, {syscall.SIGTERM, time.Hour, 3},
		{syscall.SIGINT, time.Hour, 4}, {syscall.SIGTERM, time.Hour, 0}, {syscall.SIGINT, time.Hour, 0},
		{contextEnded, time.Hour, 5}, {syscall.SIGHUP, time.Hour, 6},
	} {
		require.Equal(t, x.count, d.next(x.s, begin.Add(x.after), sameDemand), "%v after %v", x.s, x.after)
	}
}

// Two presses of Ctrl-C are two demands, but one that comes twice is one.
func TestKeysPressedTwice(t *testing.T) {
	var d demands
	begin := time.Unix(1, 0)
	for _, x := range []struct {
		after time.Duration
		count int
	}{{0, 1}, {time.Millisecond, 0}, {199 * time.Millisecond, 0}, {250 * time.Millisecond, 2}, {300 * time.Millisecond, 0}, {450 * time.Millisecond, 3}} {
		require.Equal(t, x.count, d.next(syscall.SIGINT, begin.Add(x.after), sameKey), "%v", x.after)
	}
	require.Equal(t, sameDemand, sameFor(syscall.SIGTERM))
}

// Whatever else demands the job's end right after an interrupt that ranks were told
// of kills them, and stays.
func TestADemandRightAfterAnInterrupt(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, contextEnded} {
		t.Run(s.String(), func(t *testing.T) {
			r, agent := launchedRun(t)
			var said strings.Builder
			r.report.w = &said
			require.NoError(t, r.worlds.noteStarted(0, overlay.Started{Ranks: 2}))
			r.signals.act(syscall.SIGINT)
			r.signals.act(s)
			require.True(t, r.killed)
			for _, kind := range []tree.Kind{overlay.KindSignal, overlay.KindKill} {
				frame, err := agent.Recv(link.Control)
				require.NoError(t, err)
				h, _, err := tree.ParseHeader(frame)
				require.NoError(t, err)
				require.Equal(t, kind, h.Kind)
			}
			require.Regexp(t, `to kill them, interrupt again (between 1s and 5s from now|within 5s)\n`, said.String())
			require.Contains(t, said.String(), "told again: the ranks are killed\n")
			r.handle(interruptOld{r.signals.demands.last[syscall.SIGINT]})
			require.True(t, r.decided)
			require.Equal(t, job.ExitINT, r.status)
		})
	}
}

// An interpreter or a debugger lives through any number of interrupts.
func TestInterruptThatRanksLiveThroughIsForgotten(t *testing.T) {
	r, _ := launchedRun(t)
	r.input.pump = &stdinPump{}
	require.NoError(t, r.worlds.noteStarted(0, overlay.Started{Ranks: 2}))
	for range 3 {
		r.signals.act(syscall.SIGINT)
		require.Equal(t, job.ExitINT, r.status)
		require.False(t, r.killed)
		r.handle(interruptOld{r.signals.demands.interrupt.Add(-1)}) // another's
		require.True(t, r.decided)
		r.handle(interruptOld{r.signals.demands.interrupt})
		require.False(t, r.decided, "the exit status is the ranks' again")
		require.Zero(t, r.status)
	}
	// A second one before that kills, and is not forgotten.
	r.signals.act(syscall.SIGINT)
	came := r.signals.demands.interrupt
	r.signals.demands.last[syscall.SIGINT] = came.Add(-sameDemand)
	r.signals.act(syscall.SIGINT)
	require.True(t, r.killed)
	r.handle(interruptOld{came})
	r.handle(interruptOld{r.signals.demands.last[syscall.SIGINT]})
	require.Equal(t, job.ExitINT, r.status)
	require.True(t, r.decided)
}

// The user knows why ranks end by an interrupt. Failures from before, or of other
// kinds, are told all the same, and so is everything once the interrupt is forgotten.
func TestWhatAnInterruptExplains(t *testing.T) {
	killed := func(s syscall.Signal) job.Failure { return job.Failure{Class: job.CauseSignal, Signal: int(s)} }
	exited := job.Failure{Class: job.CauseExit, Code: 3}
	for name, x := range map[string]struct {
		before    []job.Failure
		after     []job.Failure
		forgotten bool
		want      bool
	}{
		"ranks die of it":            {nil, []job.Failure{killed(syscall.SIGINT), killed(syscall.SIGINT)}, false, true},
		"a handler exits":            {nil, []job.Failure{exited, {Class: job.CauseAbort, Code: 1}}, false, true},
		"one crashes at it":          {nil, []job.Failure{killed(syscall.SIGINT), killed(syscall.SIGSEGV)}, false, false},
		"a node is lost":             {nil, []job.Failure{killed(syscall.SIGINT), {Class: job.CauseNodeLost, Rank: -1}}, false, false},
		"one had failed":             {[]job.Failure{exited}, []job.Failure{killed(syscall.SIGINT)}, false, false},
		"it is forgotten":            {nil, []job.Failure{exited}, true, false},
		"somebody else sends SIGINT": {nil, []job.Failure{killed(syscall.SIGINT)}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := launchedRun(t)
			r.input.pump, r.options.Ending.KeepGoing = &stdinPump{}, true
			require.NoError(t, r.worlds.noteStarted(0, overlay.Started{Ranks: 2}))
			for _, f := range x.before {
				r.failed(f, time.Now())
			}
			r.signals.act(syscall.SIGINT)
			if x.forgotten {
				r.handle(interruptOld{r.signals.demands.interrupt})
			}
			for _, f := range x.after {
				r.failed(f, time.Now())
			}
			require.Equal(t, x.want, r.signals.explainFailures())
		})
	}
}

// A signal that comes while an attempt ends is the next one's.
func TestASignalBetweenAttempts(t *testing.T) {
	o := options(t, "n1", 1)
	o.Boot.Bootstrap, o.Boot.Values = "exec", bootstrap.Values{"exec-command": "sleep 1000 {host} {command}"}
	o.attempt.passphrases = trees.NewPassphrases()
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	var said strings.Builder
	report := newReporter(&said, false)
	caught := make(chan os.Signal, 8)
	defer signal.Stop(caught)
	caught <- syscall.SIGINT
	status, again, more, err := runOnce(t.Context(), *o, p, time.Now(), IO{Stdout: io.Discard, Stderr: io.Discard}, report, caught)
	require.NoError(t, err)
	require.Equal(t, job.ExitINT, status)
	require.Nil(t, again)
	require.Nil(t, more)
	require.Contains(t, said.String(), "golaunch: interrupted before the ranks ran: the job is ended\n")
	signal.Stop(caught)

	r, _ := launchedRun(t) // its end
	r.signals.caught = caught
	for range 9 { // more than have room
		r.DemandedNext()
	}
	require.Equal(t, os.Signal(syscall.SIGTERM), <-caught)
	for len(caught) > 0 {
		<-caught
	}
	r.wider = &wider{} // since a message before
	r.Demanded(0)
	require.Equal(t, os.Signal(syscall.SIGTERM), <-caught)
	require.False(t, r.decided)
}

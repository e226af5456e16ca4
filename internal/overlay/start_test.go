package overlay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/pacing"
)

// timeout is the connect timeout of these tests.
const timeout = 15 * time.Second

// madeUpHosts is a made-up bootstrap, with the action of each host when it is dialled.
// A host that is not in it has an agent that says hello.
type madeUpHosts struct {
	does  map[string]func(ctx context.Context) error // before the agent says hello
	mu    sync.Mutex
	tries map[string]int
	tasks sync.WaitGroup
}

func (h *madeUpHosts) Reach() bootstrap.Reach { return bootstrap.Anywhere }
func (h *madeUpHosts) NeedsStaging() bool     { return false }

func (h *madeUpHosts) Start(ctx context.Context, host bootstrap.Host, _ []string) (bootstrap.Pipe, error) {
	h.mu.Lock()
	h.tries[host.Name]++
	h.mu.Unlock()
	if do := h.does[host.Name]; do != nil {
		if err := do(ctx); err != nil {
			return nil, err
		}
	}
	near, l := memlink.Pair()
	h.tasks.Go(func() { // ends when the near side does
		defer l.Close()
		hello := tree.AppendHeader(nil, tree.Header{Kind: KindHello, To: tree.Neighbor, From: tree.Launcher})
		_ = l.Send(link.Control, append(hello, Encode(Hello{Protocol: Protocol, HostName: host.Name})...))
		_, _ = l.Recv(link.Service)
	})
	return agentPipe{link: near}, nil
}

// agentPipe stands for a pipe over which there is a link already: yamux keeps
// timers that outlive a bubble of fake time.
type agentPipe struct {
	bootstrap.Pipe
	link link.Link
}

func (p agentPipe) Close() error      { return p.link.Close() }
func (agentPipe) Diagnostics() string { return "" }
func (agentPipe) PeerAddr() string    { return "" }

// noAnswer is a host that drops packets.
func noAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	<-ctx.Done()
	return &bootstrap.Error{Phase: bootstrap.Connect, Err: errors.New("no answer")}
}

// after returns a slow host.
func after(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func refuses(permanent bool) func(context.Context) error {
	return func(context.Context) error {
		return &bootstrap.Error{Phase: bootstrap.Authenticate, Err: errors.New("no"), Permanent: permanent}
	}
}

// outcome is that of one Start.
type outcome struct {
	joined []string            // in the order in which they joined
	rest   map[string][]string // hosts that each was given to start
	dead   []string
	causes []string // of the dead
	said   []string // of hosts that are awaited
	told   []string // hosts among rest of which the user was told
	took   time.Duration
	tries  map[string]int
}

// start runs Starter.Start over n hosts in fake time.
func start(t *testing.T, n int, redial bool, does map[string]func(context.Context) error) outcome {
	return startParts(t, n, n, redial, does)
}

// startParts runs Starter.Start over n hosts in parts of so many, in fake time.
func startParts(t *testing.T, n, size int, redial bool, does map[string]func(context.Context) error) outcome {
	return startIn(t, Common{StartOptions: StartOptions{ConnectTimeout: timeout, LostAfter: time.Minute}}, n, size, redial, does)
}

// startIn does so in a job of which common is known.
func startIn(t *testing.T, common Common, n, size int, redial bool, does map[string]func(context.Context) error) outcome {
	out := outcome{rest: map[string][]string{}}
	synctest.Test(t, func(t *testing.T) {
		h := &madeUpHosts{does: does, tries: map[string]int{}}
		woken := make(chan struct{}, 1)
		inbox := NewInbox(func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		s := NewStarter(ctx, h, self{}, common, inbox, func(job.HostIndex, string) {})
		s.Redial = redial
		s.open = func(p *leftOpen) (link.Link, error) { return p.Pipe.(agentPipe).link, nil }
		part := make([]HostEntry, n)
		for i := range part {
			part[i] = HostEntry{Index: job.HostIndex(i), Name: fmt.Sprint("n", i)}
		}
		begin := time.Now()
		parts := 0
		for one := range slices.Chunk(part, size) {
			s.Start(one)
			parts++
		}
		var links []link.Link
		for parts > 0 {
			<-woken
			for _, e := range inbox.Take(nil) {
				switch e := e.(type) {
				case Joined:
					links = append(links, e.Link)
					out.joined = append(out.joined, e.Host.Name)
					for _, r := range e.Rest {
						out.rest[e.Host.Name] = append(out.rest[e.Host.Name], r.Name)
						if r.Told {
							out.told = append(out.told, r.Name)
						}
					}
				case HostFailed:
					out.causes = append(out.causes, e.Dead.Phase+": "+e.Dead.Cause)
					out.dead = append(out.dead, part[e.Dead.Index].Name)
				case HostAwaited:
					out.said = append(out.said, part[e.Host].Name+": "+e.Text)
				case PartDone:
					parts--
				}
			}
		}
		out.took = time.Since(begin)
		stop()
		s.Wait()
		for _, l := range links {
			l.Close()
		}
		h.tasks.Wait()
		out.tries = h.tries
	})
	return out
}

// self is a stage.Source that is never read: nothing is staged here.
type self struct{ stage.Source }

func (self) Path() string { return "golaunch" }

func TestTheHeadTakesTheRest(t *testing.T) {
	o := start(t, 4, false, nil)
	require.Equal(t, []string{"n0"}, o.joined)
	require.Equal(t, []string{"n1", "n2", "n3"}, o.rest["n0"])
	require.Empty(t, o.dead)
	require.Less(t, o.took, time.Second)
}

func TestAHeadThatFailsIsReplacedAtOnce(t *testing.T) {
	o := start(t, 4, false, map[string]func(context.Context) error{"n0": refuses(true), "n1": refuses(true)})
	require.Equal(t, []string{"n2"}, o.joined)
	require.Equal(t, []string{"n3"}, o.rest["n2"])
	require.Equal(t, []string{"n0", "n1"}, o.dead)
	require.Equal(t, 1, o.tries["n0"], "a permanent error is not tried again")
	require.Less(t, o.took, time.Second)
}

// Of agents that call none takes the place of a root that is slow: it could not be
// dialled anew. Others are hedged as ever.
func TestASlowRootThatCallsIsWaitedFor(t *testing.T) {
	common := Common{StartOptions: StartOptions{ConnectTimeout: timeout, LostAfter: time.Minute}, Bulk: true}
	slow := map[string]func(context.Context) error{"n0": after(3 * pacing.HedgeAfter)}
	o := startIn(t, common, 3, 3, true, slow)
	require.Equal(t, []string{"n0"}, o.joined)
	require.Equal(t, []string{"n1", "n2"}, o.rest["n0"])
	require.Equal(t, []string{"n1", "n0"}, startIn(t, common, 3, 3, false, slow).joined)
}

func TestATransientErrorIsTriedAgain(t *testing.T) {
	left := 3
	o := start(t, 2, false, map[string]func(context.Context) error{"n0": func(context.Context) error {
		if left--; left >= 0 {
			return refuses(false)(nil)
		}
		return nil
	}})
	require.Equal(t, []string{"n0"}, o.joined)
	require.Equal(t, 4, o.tries["n0"])
	require.Empty(t, o.dead)
}

// A host that spoke and then stalls is given up after one limit, which is told,
// with what it was at.
func TestAHostThatStallsHasOneLimit(t *testing.T) {
	o := start(t, 1, false, map[string]func(context.Context) error{"n0": func(ctx context.Context) error {
		<-ctx.Done()
		return &bootstrap.Error{Phase: bootstrap.Stage, Err: errors.New("not done within 2m0s")}
	}})
	require.Equal(t, []string{"stage agent: not done within 1m0s, 4 times --connect-timeout: the host has stopped answering, or is slow"}, o.causes)
	require.Equal(t, 1, o.tries["n0"])
	require.InDelta(t, 4*timeout, o.took, float64(time.Second))
}

// A host that may be missing is given up before the connect timeout is over:
// when it has been silent, and when it has been tried for that long.
func TestAHostThatMayBeMissingIsGivenUpEarly(t *testing.T) {
	missing := func(wait time.Duration) func(context.Context) error {
		return func(context.Context) error {
			time.Sleep(wait) //nolint:forbidigo // in fake time
			return &bootstrap.Error{Phase: bootstrap.Connect, Err: errors.New("nobody there"), Absent: bootstrap.NoAnswer}
		}
	}
	common := Common{StartOptions: StartOptions{ConnectTimeout: timeout, MissAfter: timeout / 5, LostAfter: time.Minute}}
	o := startIn(t, common, 2, 2, false, map[string]func(context.Context) error{"n0": missing(timeout / 5), "n1": missing(time.Millisecond)})
	require.Equal(t, []string{"n0", "n1"}, o.dead)
	require.Equal(t, 1, o.tries["n0"])
	require.Greater(t, o.tries["n1"], 1)
	require.Less(t, o.took, timeout/2)
}

// The missing part of a host is told once, if it does not come within a moment.
func TestAHostThatIsAwaitedIsTold(t *testing.T) {
	for comes, want := range map[time.Duration][]string{
		timeout / 100: nil,
		timeout / 2:   {"n0: no container yet: waiting up to 15s for it (--connect-timeout)"},
		2 * timeout:   {"n0: no container yet: waiting up to 15s for it (--connect-timeout)"},
	} {
		var begin time.Time
		o := start(t, 1, true, map[string]func(context.Context) error{"n0": func(context.Context) error {
			if begin.IsZero() {
				begin = time.Now()
			}
			if time.Since(begin) < comes {
				return &bootstrap.Error{Phase: bootstrap.Command, Err: errors.New("no"), Awaited: "no container yet"}
			}
			return nil
		}})
		require.Equal(t, want, o.said)
		require.Equal(t, comes < timeout, len(o.joined) == 1)
	}
}

// A host that comes late is the business of who takes its range over, who knows that the
// user was told of it; the launcher tries it no more.
func TestALateRootIsHandedOn(t *testing.T) {
	var first, last time.Time // of the tries
	does := map[string]func(context.Context) error{"n0": func(context.Context) error {
		if last = time.Now(); first.IsZero() {
			first = last
		}
		return &bootstrap.Error{Phase: bootstrap.Connect, Err: errors.New("refused"), Absent: bootstrap.NoListener, Unreached: true, Awaited: "no sshd yet"}
	}, "n1": after(time.Second)} // when the user was told of n0
	o := start(t, 3, true, does)
	require.Equal(t, []string{"n1"}, o.joined)
	require.Equal(t, []string{"n0", "n2"}, o.rest["n1"])
	require.Equal(t, []string{"n0"}, o.told)
	require.Equal(t, []string{"n0: no sshd yet: waiting up to 15s for it (--connect-timeout)"}, o.said)
	require.Empty(t, o.dead)
	require.Greater(t, o.tries["n0"], 1)
	require.LessOrEqual(t, last.Sub(first), pacing.HedgeAfter+time.Second, "until the hedge has come")

	o = start(t, 3, false, does) // an agent has it as a leaf of its own
	require.Equal(t, []string{"n2"}, o.rest["n1"])
	require.Equal(t, []string{"n0"}, o.dead)
	require.InDelta(t, timeout, o.took, float64(2*time.Second))
}

// The reason of a silent wait is told as well, and once.
func TestASilentStartIsTold(t *testing.T) {
	o := start(t, 1, true, map[string]func(context.Context) error{"n0": func(ctx context.Context) error {
		bootstrap.Await(ctx, "docker has said nothing yet")
		bootstrap.Await(ctx, "docker has said nothing yet")
		return nil
	}})
	require.Equal(t, []string{"n0: docker has said nothing yet: waiting up to 15s for it (--connect-timeout)"}, o.said)
	require.Equal(t, []string{"n0"}, o.joined)
}

// Hosts that are not there leave the window as it is: their delays do not come from
// many handshakes at a time.
func TestMissingHostsDoNotCloseTheWindow(t *testing.T) {
	took := func(unreached bool) time.Duration {
		does := map[string]func(context.Context) error{}
		for i := range pacing.WindowBegin {
			does[fmt.Sprint("n", 2*i)] = func(context.Context) error {
				return &bootstrap.Error{Phase: bootstrap.Connect, Err: errors.New("no"), Permanent: true, Unreached: unreached}
			}
			does[fmt.Sprint("n", 2*i+1)] = after(time.Second)
		}
		o := startParts(t, 2*pacing.WindowBegin, 2, false, does)
		require.Len(t, o.joined, pacing.WindowBegin)
		return o.took
	}
	require.Equal(t, time.Second, took(true)) // of fake time: all at once
	require.Greater(t, took(false), time.Second)
}

// The late host of a hedged range is kept: by an agent as a leaf of its own, at
// the launcher as a host of the winner's.
func TestALateHeadIsNeverLost(t *testing.T) {
	slow := map[string]func(context.Context) error{"n0": after(5 * time.Second)}
	o := start(t, 3, false, slow)
	require.Equal(t, []string{"n1", "n0"}, o.joined)
	require.Equal(t, []string{"n2"}, o.rest["n1"])
	require.Empty(t, o.rest["n0"])
	require.Empty(t, o.dead)

	o = start(t, 3, true, slow)
	require.Equal(t, []string{"n1"}, o.joined)
	require.Equal(t, []string{"n0", "n2"}, o.rest["n1"])
	require.Empty(t, o.dead)
	require.Less(t, o.took, 3*time.Second)
}

// A dead rack costs about two connect timeouts, not one per host.
func TestADeadRackIsNotServedInTurn(t *testing.T) {
	rack := map[string]func(context.Context) error{}
	for i := range 16 {
		rack[fmt.Sprint("n", i)] = noAnswer
	}
	o := start(t, 40, false, rack)
	require.Len(t, o.dead, 16)
	require.NotEmpty(t, o.joined)
	require.Less(t, o.took, 2*timeout)
	all := slices.Clone(o.joined)
	for _, r := range o.rest {
		all = append(all, r...)
	}
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 24, "every live host is somebody's")
}

// Hosts in place of missing ones do not put hedges off: a part of which the
// first eight are given up early is decided when the third hedge is.
func TestAMissingRackIsNotServedInTurn(t *testing.T) {
	const missAfter = 3 * time.Second
	rack := map[string]func(context.Context) error{}
	for i := range 8 {
		rack[fmt.Sprint("n", i)] = func(context.Context) error {
			time.Sleep(missAfter) //nolint:forbidigo // in fake time
			return &bootstrap.Error{Phase: bootstrap.Connect, Err: errors.New("no answer"), Unreached: true, Absent: bootstrap.NoAnswer}
		}
	}
	o := startIn(t, Common{StartOptions: StartOptions{ConnectTimeout: timeout, MissAfter: missAfter, LostAfter: time.Minute}}, 12, 12, false, rack)
	require.Contains(t, o.joined, "n8")
	require.Len(t, o.dead, 8)
	require.LessOrEqual(t, o.took, pacing.HedgeAfter*3+missAfter)
}

func TestAllDead(t *testing.T) {
	o := start(t, 2, true, map[string]func(context.Context) error{"n0": noAnswer, "n1": refuses(true)})
	require.Empty(t, o.joined)
	slices.Sort(o.dead)
	require.Equal(t, []string{"n0", "n1"}, o.dead)
}

// A head that waits for its turn in the window is not silent: nobody is tried
// in its place.
func TestAHeadInTheQueueIsNotHedged(t *testing.T) {
	does := map[string]func(context.Context) error{"n16": after(time.Second)}
	for i := range pacing.WindowBegin {
		does[fmt.Sprint("n", 2*i)] = after(1500 * time.Millisecond)
	}
	o := startParts(t, 18, 2, false, does) // all heads but n16 go first
	require.Zero(t, o.tries["n17"])
	require.Equal(t, []string{"n17"}, o.rest["n16"])
}

// An agent that is dismissed leaves nothing open: its link does not close the
// connection of a command that has ended by itself.
func TestADismissedAgentsPipeIsClosed(t *testing.T) {
	near, agent := memlink.Pair()
	agent.Close()
	s := NewStarter(t.Context(), nil, self{}, Common{}, NewInbox(func() {}), nil)
	pipe := &countedPipe{}
	s.dismiss(Joined{Link: near, Pipe: pipe})
	require.Equal(t, 1, pipe.closed)
}

// countedPipe counts how often it is closed.
type countedPipe struct {
	bootstrap.Pipe
	closed int
}

func (p *countedPipe) Close() error {
	p.closed++
	return nil
}

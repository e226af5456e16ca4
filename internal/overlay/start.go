package overlay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/pacing"
)

const (
	retryFirst       = 50 * time.Millisecond
	retryLongest     = time.Second
	endTimeout       = 2 * time.Second
	startsPerConnect = 4   // in connect timeouts, the time that one start may take in all
	maxNoise         = 200 // bytes of a line of noise that are passed on
	never            = math.MaxInt64
)

// Joined is the event of an agent that said hello. The owner turns Link into an
// Edge and sends it its Range: itself and the hosts in Rest.
type Joined struct {
	Host  HostEntry
	Rest  []HostEntry
	Hello Hello
	Link  link.Link
	Pipe  bootstrap.Pipe

	held *leftOpen // the pipe as the link has it; nil where the link has it from elsewhere
}

// Refuse lets go of an agent that has just said hello: it sees that, and ends.
func (j Joined) Refuse() {
	j.held.watch()
	j.Link.Close()
	j.Pipe.Close()
}

// HostFailed is the event of a host on which no agent will run.
type HostFailed struct{ Dead DeadHost }

// PartDone is the event that closes one Start: every host of the part has
// joined, failed, or was handed to the one that joined first.
type PartDone struct{}

// Linked is a Pipe that is a link already, as between agents of one process.
type Linked interface{ Link() link.Link }

// Starter starts agents, one per part of a host list, as docs/architecture.md
// says. Its goroutines end when ctx is done or every host is decided; Wait
// waits for them.
type Starter struct {
	ctx      context.Context
	piper    bootstrap.Piper
	relays   bootstrap.Piper // for entries that are relays
	source   stage.Source
	common   Common
	patience time.Duration // of a bulk start, bootstrap.Kind.Patience
	inbox    *Inbox
	noise    func(host job.HostIndex, line string)
	window   *window
	gate     func() (*Gate, error)              // opened once, by a relay
	open     func(*leftOpen) (link.Link, error) // the parent's side of a link
	tasks    sync.WaitGroup
	starts   *starts
	told     sync.Map // job.HostIndex of those of which the user knows that they are awaited

	// Redial makes a late host the business of the one that joined first,
	// which dials it anew; otherwise the late one becomes a leaf of ours. The
	// launcher sets it, to have one root.
	Redial bool
}

// NewStarter returns a Starter that starts agents through piper and reports to inbox.
// noise receives the output of hosts before the agent runs.
func NewStarter(ctx context.Context, piper bootstrap.Piper, source stage.Source, common Common, inbox *Inbox, noise func(host job.HostIndex, line string)) *Starter {
	open := func(p *leftOpen) (link.Link, error) {
		if l, ok := p.Pipe.(Linked); ok {
			return l.Link(), nil
		}
		return yamuxlink.New(p, yamuxlink.Config{Parent: true, LostAfter: common.LostAfter, Silent: p.fellSilent})
	}
	gate := sync.OnceValues(func() (*Gate, error) { return openGate(ctx, common.Gate) })
	kind, _ := registry.Find(common.Bootstrap) // the maker of piper knows it
	return &Starter{
		ctx: ctx, patience: kind.Patience, piper: piper, relays: registry.Relays(), source: source, common: common, inbox: inbox, noise: noise,
		window: newWindow(), gate: gate, open: open, starts: newStarts(common, inbox),
	}
}

// handOn is c as an agent below gets it: with the bootstrap's knowledge from here.
func (s *Starter) handOn(c Common) Common {
	if l, ok := s.piper.(bootstrap.Learner); ok {
		c.Setup = l.Learned()
	}
	return c
}

// Start begins to start an agent on the head of part, which must not be empty.
func (s *Starter) Start(part []HostEntry) { s.tasks.Go(func() { s.run(part) }) }

// Wait returns when nothing is being started any more.
func (s *Starter) Wait() { s.tasks.Wait() }

// run tries the hosts of a part, as pacing.Part says, until one joins. A relay has no
// substitute: hosts below it can't start others.
func (s *Starter) run(part []HostEntry) {
	results := make(chan result) // all are received, here or by dismissLate
	handedOn := make(chan struct{})
	begun := make(chan struct{}, len(part))
	heads := len(part)
	if part[0].Relay() {
		heads = 1
	}
	p := pacing.NewPart(heads)
	try := func(n int, tell func()) {
		for i := p.Next() - n; i < p.Next(); i++ {
			s.tasks.Go(func() { results <- s.attempt(i, part[i], tell, handedOn) })
		}
	}
	begins := func() { begun <- struct{}{} }
	if s.common.Bulk && s.Redial {
		// The others were started with it, and one that comes too late to be the root
		// can't be dialled anew.
		begins = func() {}
	}
	try(p.Begin(), begins)
	timer := time.NewTimer(never)
	defer timer.Stop()
	for !p.Done() {
		select {
		case <-begun:
			timer.Reset(pacing.HedgeAfter)
		case <-timer.C:
			try(p.Silent(), begins)
		case r := <-results:
			if r.err != nil {
				s.inbox.Put(HostFailed{deadHost(part[r.i], r.err)})
				tell := begins
				if p.Hedging() {
					tell = func() {} // the next hedge comes when it would have
				}
				try(p.Failed(r.i), tell)
				continue
			}
			if p.Join(r.i) {
				r.joined.Rest = part[p.Next():]
				if s.Redial {
					r.joined.Rest = slices.Concat(s.unjoined(part, p.Pending()), part[p.Next():])
				}
			}
			s.inbox.Put(r.joined)
			if pending := len(p.Pending()); s.Redial && pending > 0 {
				close(handedOn)
				s.tasks.Go(func() { s.dismissLate(results, pending) })
				s.inbox.Put(PartDone{})
				return
			}
		}
	}
	s.inbox.Put(PartDone{})
}

type result struct {
	i      int
	joined Joined
	err    *bootstrap.Error
}

// unjoined returns hosts of a part that have not joined, for another agent to dial.
func (s *Starter) unjoined(part []HostEntry, which []int) []HostEntry {
	var hosts []HostEntry
	for _, i := range which {
		h := part[i]
		_, h.Told = s.told.Load(h.Index)
		hosts = append(hosts, h)
	}
	return hosts
}

// dismissLate waits for n more results and lets go of the agents among them.
func (s *Starter) dismissLate(results <-chan result, n int) {
	for range n {
		if r := <-results; r.err == nil {
			s.dismiss(r.joined)
		}
	}
}

// dismiss ends an agent that said hello in good order.
func (s *Starter) dismiss(j Joined) {
	ctx, cancel := context.WithTimeout(s.ctx, endTimeout)
	defer cancel()
	if j.Link.End(ctx) == nil { // the agent ends either way: Close follows
		j.held.watch()
	}
	j.Link.Close()
	j.Pipe.Close() // the link leaves it open where the agent has ended
}

// attempt starts an agent on one host, again and again while the error may pass
// (bootstrap.Error) and the host is nobody else's. It calls begun when it has its first
// permit in the window.
func (s *Starter) attempt(i int, h HostEntry, begun func(), handedOn <-chan struct{}) result {
	defer s.starts.host(h.Index)()
	begun = sync.OnceFunc(begun)
	var begin time.Time // of the first try: waiting for a permit does not count
	pause := retryFirst
	installed := s.common.Agent
	var telling *time.Timer
	for tries := 1; ; tries++ {
		joined, err := s.tryOnce(h, installed, &begin, begun)
		if err == nil {
			return result{i: i, joined: joined}
		}
		var be *bootstrap.Error
		if !errors.As(err, &be) {
			be = &bootstrap.Error{Host: h.Name, Phase: bootstrap.Connect, Err: err}
		}
		wait := time.Duration(rand.Int64N(int64(pause)) + 1)
		tired := !be.Again(s.common.Limits(), tries, time.Since(begin)+wait)
		if agent := be.Phase == bootstrap.Stage || be.Phase == bootstrap.Handshake; agent && installed != (stage.Installed{}) {
			// It may be another build after all: a copy has its chance.
			installed, tired = stage.Installed{}, be.Permanent
		}
		if tired || s.ctx.Err() != nil {
			return result{i: i, err: be}
		}
		if be.Awaited != "" && telling == nil {
			telling = s.tellAwaited(h, be, begin)
			defer telling.Stop()
		}
		pause = min(2*pause, retryLongest)
		select {
		case <-time.After(wait):
		case <-handedOn:
			return result{i: i, err: be}
		case <-s.ctx.Done():
			return result{i: i, err: be}
		}
	}
}

// tryOnce makes one try. It holds a permit of the window for at most pacing.HedgeAfter,
// so that silent hosts do not keep live ones waiting. The bootstrap bounds the
// connection and the log-in by the connect timeout each; later steps are bounded here.
func (s *Starter) tryOnce(h HostEntry, installed stage.Installed, begin *time.Time, begun func()) (Joined, error) {
	traced, done := s.starts.try(s.ctx, h.Index)
	traced = bootstrap.WithAwaited(traced, func(lacks string) { s.awaited(h, lacks, s.common.ConnectTimeout, connectFlag) })
	joined, err := s.admitted(traced, h, installed, begin, begun)
	done(err)
	return joined, err
}

// admitted waits for a permit, and makes the try.
func (s *Starter) admitted(traced context.Context, h HostEntry, installed stage.Installed, begin *time.Time, begun func()) (Joined, error) {
	fail := func(err error) (Joined, error) {
		return Joined{}, &bootstrap.Error{Host: h.Name, Phase: bootstrap.Connect, Err: err}
	}
	entered := bootstrap.BeginStep(traced, waitStep)
	release, err := s.enter(h)
	entered()
	if err != nil {
		return fail(err)
	}
	begun()
	give := sync.OnceFunc(release)
	defer give()
	slow := time.AfterFunc(pacing.HedgeAfter, give)
	defer slow.Stop()

	now := time.Now()
	if begin.IsZero() {
		*begin = now
	}
	limit := startsPerConnect * s.common.ConnectTimeout
	if s.common.Bulk {
		limit += s.patience
	}
	ctx, cancel := context.WithTimeout(traced, limit)
	defer cancel()
	joined, err := s.handshake(ctx, h, installed)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		err = stalled(h, err, limit)
	}
	// A host that is not there tells nothing about how many handshakes the
	// others can take.
	if be := (*bootstrap.Error)(nil); !errors.As(err, &be) || !be.Unreached {
		s.window.learn(time.Since(now), err != nil)
	}
	return joined, err
}

// stalled returns the error of a start that is given up as it has taken its whole time,
// with its last phase. Another try would take as long.
func stalled(h HostEntry, err error, limit time.Duration) error {
	be := &bootstrap.Error{Host: h.Name, Phase: bootstrap.Connect}
	errors.As(err, &be)
	be.Err = fmt.Errorf("not done within %v, %d times --connect-timeout: the host has stopped answering, or is slow", limit, startsPerConnect)
	be.Permanent = true
	return be
}

// handshake brings the agent to the host and waits for its hello.
func (s *Starter) handshake(ctx context.Context, h HostEntry, installed stage.Installed) (Joined, error) {
	access := h.access()
	host := bootstrap.Host{Index: int(h.Index), Name: h.Name, Addr: h.Addr, User: access.User, Port: access.Port}
	piper := s.piper
	if h.Relay() {
		piper = s.relays
	}
	words := []string{AgentWord, LostAfterWord, s.common.LostAfter.String()}
	noise := func(line string) { s.noise(h.Index, line[:min(len(line), maxNoise)]) }
	pipe, err := stage.Start(ctx, piper, host, s.source, words, stage.Options{Keep: s.common.KeepAgent, Installed: installed, AgentPath: s.common.AgentPath, Noise: noise})
	if err != nil {
		return Joined{}, err
	}
	fail := func(err error) (Joined, error) {
		stage.Abandon(pipe)
		err = withDiagnostics(err, pipe)
		return Joined{}, &bootstrap.Error{Host: h.Name, Phase: bootstrap.Handshake, Err: err}
	}
	held := newLeftOpen(pipe, NodeJob(h.Index, s.common.JobID))
	if !h.Relay() {
		held.agentPath = s.common.AgentPath
	}
	l, err := s.open(held)
	if err != nil {
		return fail(err)
	}
	defer bootstrap.BeginStep(ctx, bootstrap.Handshake)()
	// The agent's first message is on a deadline; closing the link ends Recv.
	ctx, cancel := context.WithTimeout(ctx, s.common.ConnectTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	hello, err := recvHello(l)
	if !stop() {
		err = fmt.Errorf("no hello from the agent within %v", s.common.ConnectTimeout)
	}
	if err != nil {
		l.Close()
		return fail(err)
	}
	return Joined{Host: h, Hello: hello, Link: l, Pipe: pipe, held: held}, nil
}

func recvHello(l link.Link) (Hello, error) {
	frame, err := l.Recv(link.Control)
	if err != nil {
		return Hello{}, err
	}
	h, body, err := tree.ParseHeader(frame)
	if err != nil {
		return Hello{}, err
	}
	if h.Kind != KindHello || h.More {
		return Hello{}, fmt.Errorf("first message has kind %d, not hello", h.Kind)
	}
	hello, err := As[Hello](Message{Header: h, Body: body})
	if err == nil && hello.Protocol != Protocol {
		err = fmt.Errorf("agent speaks protocol %d, this golaunch %d: remove the stale agent", hello.Protocol, Protocol)
	}
	return hello, err
}

func deadHost(h HostEntry, err *bootstrap.Error) DeadHost {
	return DeadHost{Index: h.Index, Phase: string(err.Phase), Cause: cut(err.Err.Error(), maxCause), Hint: cut(err.Hint, maxCause/2)}
}

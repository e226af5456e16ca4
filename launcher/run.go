package launcher

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/tree"
)

// IO is where a job's input comes from and its output goes. The ranks' standard
// output is all that is ever written to Stdout; golaunch's own words go to
// Stderr, beginning with "golaunch: ".
type IO struct {
	Stdin  *os.File // nil for none
	Stdout io.Writer
	Stderr io.Writer
}

// endTimeout bounds how long the tree may take to come down in good order.
const endTimeout = 5 * time.Second

// drainTimeout is how long, once a job that was told to end has ended, whoever
// reads the output may take to read on.
const drainTimeout = 2 * time.Second

// Run carries out the job that o describes and returns golaunch's exit status
// (design section 7). It handles SIGINT, SIGTERM, SIGHUP and the signals that
// are passed on to the ranks while it runs; ending ctx counts as SIGTERM.
func Run(ctx context.Context, o Options, stdio IO) int {
	begin := time.Now()
	report := &reporter{w: stdio.Stderr, quiet: o.Quiet}
	if err := o.Validate(); err != nil {
		report.say("%v", err)
		return job.ExitUsage
	}
	host, err := os.Hostname()
	if err != nil {
		report.say("this machine has no name: %v", err)
		return job.ExitLauncher
	}
	plan, err := NewPlan(&o, host)
	if err != nil {
		report.say("%v", err)
		return job.ExitUsage
	}
	if o.DryRun {
		fmt.Fprint(stdio.Stdout, plan)
		return 0
	}
	r, err := newRun(ctx, o, plan, report, stdio)
	if err != nil {
		report.say("%v", err)
		if errors.As(err, new(usageError)) {
			return job.ExitUsage
		}
		return job.ExitLauncher
	}
	r.clock.begin = begin
	defer r.close()
	return r.loop()
}

// run is one job while it runs. Its fields belong to the goroutine of loop,
// except inbox, printer and authority, which are safe for many.
type run struct {
	Options
	plan    *Plan // without dead hosts from the launch on
	jobID   string
	report  *reporter
	printer *printer
	stdin   *stdinPump
	inbox   *overlay.Inbox
	woken   chan struct{}
	signals chan os.Signal

	ctx     context.Context
	stop    context.CancelFunc
	boot    *boot
	signing sync.WaitGroup
	family  *overlay.Family
	clock   clock
	ready   bool
	started bool // every rank was started
	done    bool // every rank has ended
	drained bool // every byte of output was printed
	stuck   bool // output that nobody reads was given up
	total   overlay.Done

	cause    *job.Failure // why the job fails; nil while it does not
	further  []job.Failure
	failures int
	alike    int // failures to start for the cause's reason
	killed   bool
	status   int // exit status when cause is nil
	decided  bool
	over     bool
	tries    int // interrupts so far

	suspended bool // the tree was told that this process is stopped
}

// Events of the launcher itself, beside those of package overlay.
type (
	outputDrained struct{}
	outputStuck   struct{} // drainTimeout is over
	outputFailed  struct{ err error }
	noiseHeard    struct{ host, line string }
	signatureMade struct {
		slot   tree.Slot
		answer overlay.SignAnswer
	}
	stdinRead struct {
		data []byte
		err  error
	}
)

func newRun(ctx context.Context, o Options, plan *Plan, report *reporter, stdio IO) (*run, error) {
	r := &run{Options: o, plan: plan, report: report, woken: make(chan struct{}, 1), signals: make(chan os.Signal, 8)}
	var id [16]byte
	rand.Read(id[:]) // never fails
	r.jobID = hex.EncodeToString(id[:])
	r.inbox = overlay.NewInbox(func() {
		select {
		case r.woken <- struct{}{}:
		default:
		}
	})
	var err error
	if r.printer, err = newPrinter(o, plan, r.jobID, stdio, report); err != nil {
		return nil, err
	}
	if r.stdin, err = newStdinPump(stdio.Stdin, r.inbox); err != nil {
		return nil, err
	}
	if plan.Bootstrap == BootstrapExec {
		// What a root relay that dies leaves behind becomes ours to end.
		if err := unix.Subreaper(); err != nil {
			return nil, err
		}
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	if r.boot, err = newBoot(r.ctx, o, plan, r.jobID, r.inbox, report); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// loop runs the job from the first connection to the last END.
func (r *run) loop() int {
	r.catch()
	defer signal.Stop(r.signals)
	r.clock.mark("resolve")
	r.family = overlay.NewFamily(r.boot.starter, r.boot.common, r.inbox, func(tree.Slot) overlay.Sink { return r.output })
	r.family.Begin(overlay.Ready{}, r.boot.hosts, 1)

	var timeout <-chan time.Time
	if r.Timeout > 0 {
		t := time.NewTimer(r.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	var events []overlay.Event
	ended := r.ctx.Done()
	for !r.over {
		select {
		case <-r.woken:
			events = r.inbox.Take(events)
			for _, e := range events {
				r.handle(e)
			}
		case s := <-r.signals:
			r.signal(s.(syscall.Signal))
		case <-ended:
			ended = nil
			r.signal(syscall.SIGTERM)
		case <-timeout:
			r.report.say("the job has not ended within %v: it is killed", r.Timeout)
			r.giveUp(job.ExitTimeout, r.Grace)
		}
	}
	return r.finish()
}

func (r *run) handle(e overlay.Event) {
	var err error
	switch e := e.(type) {
	case overlay.Joined:
		r.family.Join(e)
		r.clock.mark("connect")
		r.verbose(1, "agent on %s is up; it starts %d more", e.Host.Name, len(e.Rest))
	case overlay.HostFailed:
		r.family.HostFailed(e.Dead)
	case overlay.PartDone:
		if r.family.PartDone() {
			r.treeReady()
		}
	case overlay.Message:
		if err = r.message(e); err != nil {
			r.rootLost(e.From, fmt.Errorf("protocol error: %w", err))
		}
	case overlay.EdgeEnded:
		r.rootLost(e.From, e.Err)
	case outputDrained:
		r.drained = true
		r.endIf()
	case outputStuck:
		if !r.drained {
			r.report.say("nobody reads the output: what is left of it is dropped")
			r.over, r.stuck = true, true
		}
	case outputFailed:
		if !r.decided || r.status != job.ExitLauncher { // else it was told
			r.report.say("the output cannot be written: %v", e.err)
		}
		r.giveUp(job.ExitLauncher, 0)
	case noiseHeard:
		r.verbose(1, "host %s printed at login: %s", e.host, e.line)
	case signatureMade:
		if r.family.Live(e.slot) {
			r.family.Send(e.slot, link.Service, overlay.KindSigned, overlay.Encode(e.answer))
		}
	case stopNow:
		r.stopSelf()
	case stdinRead:
		r.sendInput(e)
	default:
		panic(fmt.Sprintf("event %T has no handler", e)) // a bug of this package
	}
}

func (r *run) message(m overlay.Message) error {
	switch m.Header.Kind {
	case overlay.KindReady:
		ready, err := overlay.Decode[overlay.Ready](m.Body)
		if err == nil && r.family.ChildReady(m.From, ready) {
			r.treeReady()
		}
		return err
	case overlay.KindSign:
		q, err := overlay.Decode[overlay.SignRequest](m.Body)
		if err == nil {
			r.sign(m.From, q)
		}
		return err
	case overlay.KindStarted:
		_, err := overlay.Decode[overlay.Started](m.Body)
		r.ranksStarted()
		return err
	case overlay.KindFailure:
		f, err := overlay.Decode[job.Failure](m.Body)
		if err == nil {
			r.failed(f)
		}
		return err
	case overlay.KindDone:
		d, err := overlay.Decode[overlay.Done](m.Body)
		r.total, r.done = d, true
		r.clock.mark("ranks ended")
		r.endIf()
		return err
	case overlay.KindNote:
		n, err := overlay.Decode[overlay.Note](m.Body)
		if err == nil {
			r.verbose(n.Level, "host %s: %s", r.hostName(n.Host), n.Text)
		}
		return err
	case overlay.KindInputAck:
		k, err := overlay.Decode[overlay.InputAck](m.Body)
		if err == nil {
			err = r.stdin.ack(k.Bytes)
		}
		return err
	}
	return fmt.Errorf("unexpected message of kind %d", m.Header.Kind)
}

// output is the sink of the root's stdio stream: it prints, in the reading
// goroutine, so that a terminal that stops holds up output and nothing else.
func (r *run) output(h tree.Header, body []byte) {
	switch h.Kind {
	case overlay.KindOutput:
		if err := r.printer.print(body); err != nil {
			r.inbox.Put(outputFailed{err})
		}
	case overlay.KindDrained:
		if err := r.printer.flush(); err != nil {
			r.inbox.Put(outputFailed{err})
		}
		r.inbox.Put(outputDrained{})
	}
}

// treeReady has the list of who lives: it fixes the plan and launches, or gives
// the reasons why not.
func (r *run) treeReady() {
	r.ready = true
	r.clock.mark("agents up")
	ready := r.family.ReadyValue()
	r.boot.seal()
	if r.decided {
		r.endIf()
		return
	}
	if len(ready.Dead) > 0 {
		allowed := (r.AllowDeadNodes || len(ready.Dead) <= r.plan.Spares) && r.plan.deadRelays(ready.Dead) == 0
		r.report.dead(r.plan, ready.Dead, allowed)
		if !allowed {
			r.giveUp(job.ExitLauncher, 0)
			return
		}
		dead := make([]job.HostIndex, len(ready.Dead))
		for i, d := range ready.Dead {
			dead[i] = d.Index
		}
		plan, err := r.plan.Without(dead)
		if err != nil {
			r.report.say("%v", err)
			r.giveUp(job.ExitLauncher, 0)
			return
		}
		r.plan = plan
	}
	if err := r.printer.prepare(r.plan); err != nil {
		r.report.say("%v", err)
		r.giveUp(job.ExitLauncher, 0)
		return
	}
	launch, err := r.launchMessage(ready)
	if err != nil {
		r.report.say("%v", err)
		r.giveUp(job.ExitLauncher, 0)
		return
	}
	r.family.Broadcast(link.Service, overlay.KindLaunch, overlay.Encode(launch))
	r.clock.mark("launch sent")
}

func (r *run) ranksStarted() {
	r.started = true
	r.clock.mark("ranks started")
	r.startInput()
}

// failed takes a failure that golaunch did not provoke. The first is the
// cause, and ends the job unless it is to keep going.
func (r *run) failed(f job.Failure) {
	r.failures++
	if r.cause != nil {
		switch {
		case f.Class == job.CauseStart && f.Text == r.cause.Text:
			r.alike++
		case len(r.further) < maxFurther:
			r.further = append(r.further, f)
		}
		return
	}
	if r.decided && f.Class == job.CauseNodeLost {
		return // it came down because the job does
	}
	r.cause = &f
	if r.KeepGoing && f.Class != job.CauseNodeLost && f.Class != job.CauseAbort {
		return
	}
	if r.plan.isRelay(f.Host) && !r.ready {
		r.giveUp(f.ExitCode(), 0) // hosts that are still awaited make no difference
		return
	}
	r.kill(r.Grace)
}

// giveUp ends the job with an exit status of golaunch's own.
func (r *run) giveUp(status int, grace time.Duration) {
	if !r.decided {
		r.decided, r.status = true, status
	}
	r.kill(grace)
	r.endIf()
}

// kill has every rank ended: SIGTERM, and SIGKILL after grace.
func (r *run) kill(grace time.Duration) {
	if r.killed && grace > 0 {
		return
	}
	r.killed = true
	r.stdin.close()
	r.family.Broadcast(link.Control, overlay.KindKill, overlay.Encode(overlay.Kill{Grace: grace}))
}

// endIf leaves the loop when there is nothing more to wait for.
func (r *run) endIf() {
	if r.done && !r.drained && r.decided {
		time.AfterFunc(drainTimeout, func() { r.inbox.Put(outputStuck{}) })
	}
	launched := r.clock.has("launch sent")
	if r.done && r.drained || r.decided && !launched {
		r.over = true
	}
}

// rootLost handles the end of the one link that the launcher has.
func (r *run) rootLost(slot tree.Slot, err error) {
	if r.over || !r.family.Live(slot) {
		return
	}
	if err == nil {
		err = errors.New("its agent ended")
	}
	host := r.family.Host(slot)
	if !r.ready {
		if r.family.Lose(slot, err) {
			r.treeReady()
		}
		return
	}
	err = r.family.Explain(slot, err)
	r.family.Leave(slot)
	r.family.Sweep(slot)
	r.failed(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: host.Index, Phase: "running", Text: fmt.Sprintf("link to its agent lost: %v", err)})
	r.over = true
}

// finish takes the tree down and says how the job went.
func (r *run) finish() int {
	r.clock.mark("output drained")
	if !r.stuck { // else its link cannot come to a good end
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		r.family.End(ctx)
		r.awaitRoot(ctx)
	}
	r.clock.mark("tree down")
	status := r.status
	if r.cause != nil {
		r.report.failure(r)
		if !r.decided {
			status = r.cause.ExitCode()
		}
	}
	if r.Timing {
		r.report.timing(r)
	}
	return status
}

// awaitRoot waits until the root has ended its side, so that the agents are
// gone when golaunch is.
func (r *run) awaitRoot(ctx context.Context) {
	for r.family.Degree() > 0 {
		select {
		case <-r.woken:
			for _, e := range r.inbox.Take(nil) {
				if e, ok := e.(overlay.EdgeEnded); ok && r.family.Live(e.From) {
					r.family.Leave(e.From)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// close releases everything.
func (r *run) close() {
	r.stop()
	if r.family != nil {
		r.family.Close()
	}
	if r.plan.Bootstrap == BootstrapExec {
		unix.EndChildren()
	}
	r.stdin.close()
	r.boot.close()
	r.signing.Wait()
	if !r.stuck { // else it waits for its reader still
		r.printer.close()
	}
}

func (r *run) verbose(level int, format string, args ...any) {
	if level <= r.Verbose {
		r.report.say(format, args...)
	}
}

// hostName is what the user calls a host.
func (r *run) hostName(h job.HostIndex) string {
	return r.plan.hostName(h)
}

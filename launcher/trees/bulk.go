package trees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/tlslink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/overlay/rendezvous"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/internal/unix"
)

// bulk is the launcher's side of agents that were started all at once: it listens
// for their calls until the launch.
type bulk struct {
	calls  *rendezvous.Rendezvous
	within time.Duration // that agents have to call, and again if they lose their parent
	late   *time.Timer   // the end of the wait for calls
	stop   context.CancelFunc
	ended  chan struct{} // closed when all commands have ended
	word   chan struct{} // has an element after each command that ended with an error
	waited time.Duration // for the commands, since the job is over
}

// bulkEnd is the time for the commands of a bulk start to end when the job is over,
// before they are ended. That of a dead node never does by itself; with the time to end
// them the job is gone within two seconds.
const bulkEnd = 800 * time.Millisecond

// managerLag bounds the time from the loss of an agent's connection to the manager's
// word of its end, for both to be told together.
const managerLag = 2 * time.Second

// lastWord is the same at the end of a job, which is not to be late for it.
const lastWord = 600 * time.Millisecond

// startBulk starts the agents of all hosts, which have patience to call; 0 is the
// connect timeout.
func startBulk(ctx context.Context, opened *bootstrap.Opened, patience time.Duration, hosts []job.Host, source stage.Source, c overlay.Common, note func(string, ...any)) (*bulk, error) {
	names, err := namesOf(hosts)
	if err != nil {
		return nil, err
	}
	// Every agent may keep its call for a while. Other callers get by with the rest.
	kept := uint64(OwnFiles + len(hosts))
	if err := unix.NeedFiles(kept, "golaunch"); err != nil {
		return nil, err
	}
	if _, err := unix.RaiseNoFile(kept + uint64(rendezvous.Pending(len(hosts)))); err != nil {
		return nil, err
	}
	addr, err := listenAt(ctx, opened.Listen, names)
	if err != nil {
		return nil, err
	}
	secret := tlslink.NewSecret()
	b := &bulk{within: cmp.Or(patience, c.ConnectTimeout), ended: make(chan struct{}), word: make(chan struct{}, 1)}
	if b.calls, err = rendezvous.Listen(ctx, rendezvous.Config{
		Secret: secret, Addr: net.JoinHostPort(addr, "0"), Hosts: names, Log: func(line string) { note("%s", line) }, Together: opened.Together,
	}); err != nil {
		return nil, err
	}
	all := make([]bootstrap.Host, len(hosts))
	for i, h := range hosts {
		all[i] = bootstrap.Host{Index: i, Name: h.Name, User: h.User, Port: h.Port}
	}
	argv := []string{
		source.Path(), overlay.AgentWord, overlay.LostAfterWord, c.LostAfter.String(),
		overlay.DialWord, b.calls.Addr(), overlay.WithinWord, c.ConnectTimeout.String(),
	}
	if opened.HostVariable != "" {
		argv = append(argv, overlay.HostVariableWord, opened.HostVariable)
	}
	// The commands end by themselves when the job does, and are ended later.
	started, stop := context.WithCancel(context.WithoutCancel(ctx))
	failures, err := opened.Bulk.Start(started, all, argv, secret.Reader())
	if err != nil {
		stop()
		b.calls.Close()
		return nil, err
	}
	b.stop = stop
	b.late = time.AfterFunc(b.within, func() { b.missing(fmt.Errorf("its agent has not called within %v", b.within)) })
	go func() { // ends with the last command
		for e := range failures {
			b.calls.Fail(e.Host, e)
			select {
			case b.word <- struct{}{}:
			default:
			}
		}
		b.missing(errors.New("its agent has ended without a call"))
		close(b.ended)
	}()
	return b, nil
}

func (b *bulk) missing(cause error) {
	if flood := b.calls.Flood(); flood != "" {
		cause = fmt.Errorf("%w, while %s", cause, flood)
	}
	b.calls.FailMissing(func(host string) *bootstrap.Error {
		return &bootstrap.Error{
			Host: host, Phase: bootstrap.Connect, Err: cause, Permanent: true,
			Hint: "see whether the agent runs there, and can connect to " + b.calls.Addr() + "; --connect-timeout gives it more time",
		}
	})
}

// close ends the rest of a bulk start.
func (b *bulk) close() {
	b.late.Stop()
	b.calls.Close()
	select {
	case <-b.ended:
	case <-time.After(bulkEnd - b.waited):
	}
	b.stop()
	<-b.ended
}

// namesOf returns the names of hosts, by which their agents call.
func namesOf(hosts []job.Host) ([]string, error) {
	names := make([]string, len(hosts))
	first := make(map[string]job.Host, len(hosts))
	for i, h := range hosts {
		if f, twice := first[h.Name]; twice {
			return nil, job.Exit(job.ExitUsage, "%s: host %s is named already at %s: agents that are started in bulk are told apart by their hosts' names", h.Pos, h.Name, f.Pos)
		}
		first[h.Name], names[i] = h, h.Name
	}
	return names, nil
}

// routesTried bounds the names that are tried to find the hosts' route to this machine.
const routesTried = 8

// listenAt returns the address of this machine that hosts reach: the given one, or the
// near end of the route to the first of them whose name resolves.
func listenAt(ctx context.Context, given string, names []string) (string, error) {
	if given != "" {
		return given, nil
	}
	var questions []bootstrap.Question
	for _, name := range names[:min(len(names), routesTried)] {
		questions = append(questions, bootstrap.Question{Network: "ip", Name: name})
	}
	ctx, cancel := context.WithTimeout(ctx, bootstrap.LookUpTimeout)
	defer cancel()
	answers, _ := bootstrap.LookUp(ctx, questions, net.DefaultResolver.LookupNetIP) // its error is that the time is up
	loopback := ""                                                                  // of a host that is this one, or whose name means this machine everywhere
	for _, to := range answers {
		if to == "" {
			continue
		}
		ip, err := bootstrap.NearEnd(to)
		if err != nil {
			continue
		}
		if !ip.IsLoopback() {
			return ip.String(), nil
		}
		loopback = cmp.Or(loopback, ip.String())
	}
	if loopback != "" {
		return loopback, nil
	}
	return "", fmt.Errorf("no address of this machine is known at which agents can call it: there is no route to host %s, nor to the next; see whether their names resolve here", names[0])
}

// summon has the agent of a host, which has called here or will, call another.
func (b *boot) summon(ctx context.Context, host string, q overlay.Summon) error {
	if b.bulk == nil {
		return errors.New("no agents call in this job")
	}
	ctx, cancel := context.WithTimeout(ctx, b.bulk.within)
	defer cancel()
	err := b.bulk.calls.Send(ctx, host, q.Addr)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("its agent has called, but not again within %v", b.bulk.within)
		if flood := b.bulk.calls.Flood(); flood != "" {
			err = fmt.Errorf("%w, while %s", err, flood)
		}
		return err
	}
	if be := (*bootstrap.Error)(nil); errors.As(err, &be) {
		return be.Err // its agent knows the rest
	}
	return err
}

// awaitManager waits for the manager's word about agents that had called and were lost,
// until enough was told or time is up: nothing orders the news of both.
func (b *boot) awaitManager(limit time.Duration, enough func() bool) {
	for late := time.After(limit); !enough(); {
		select {
		case <-b.bulk.word:
		case <-b.bulk.ended:
			return
		case <-late:
			return
		}
	}
}

// told reports whether the manager has said something of the agent of a host.
func (b *boot) told(host job.HostIndex) bool { return b.bulk.calls.Failed(b.hosts[host].Name) != nil }

// explain adds to dead hosts the facts of their agents that only the launcher knows.
func (b *boot) explain(dead []overlay.DeadHost) {
	if b.bulk == nil {
		return
	}
	b.awaitManager(managerLag, func() bool {
		return !slices.ContainsFunc(dead, func(d overlay.DeadHost) bool {
			return d.Phase != string(bootstrap.Connect) && !b.told(d.Index)
		})
	})
	for i := range dead {
		d := &dead[i]
		switch e := b.bulk.calls.Failed(b.hosts[d.Index].Name); {
		case e == nil:
		case strings.Contains(d.Cause, e.Err.Error()): // it is told already
			d.Hint = cmp.Or(d.Hint, e.Hint)
		case d.Phase == string(bootstrap.Connect): // it never called
			d.Phase, d.Cause, d.Hint = string(e.Phase), e.Err.Error(), e.Hint
		default:
			d.Cause += "; " + e.Err.Error()
		}
	}
}

// explainLoss adds to the loss of a host the manager's word about its agent. It is
// called after whole, which has waited for that.
func (b *boot) explainLoss(f *job.Failure) {
	if b == nil || b.bulk == nil || f.Class != job.CauseNodeLost || int(f.Host) >= len(b.hosts) {
		return
	}
	if e := b.bulk.calls.Failed(b.hosts[f.Host].Name); e != nil && !strings.Contains(f.Text, e.Err.Error()) {
		f.Text += "; " + e.Err.Error()
	}
}

// whole returns the manager's word about its command for all hosts, if that has ended:
// then the loss of a host is no fault of that host's. It is nil if there is no such
// word.
func (b *boot) whole(f *job.Failure) *bootstrap.Error {
	if b == nil || b.bulk == nil || f.Class != job.CauseNodeLost {
		return nil
	}
	ended := func() *bootstrap.Error {
		for _, h := range b.hosts {
			if e := b.bulk.calls.Failed(h.Name); e != nil && e.Whole != bootstrap.WholeRuns {
				return e
			}
		}
		return nil
	}
	begin := time.Now()
	b.awaitManager(lastWord, func() bool { return ended() != nil })
	b.bulk.waited = time.Since(begin)
	return ended()
}

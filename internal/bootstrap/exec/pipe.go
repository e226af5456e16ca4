package execboot

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/internal/child"
)

const (
	// closeWait bounds the wait for a killed command: the kernel may not let it go.
	closeWait = 200 * time.Millisecond
	// hearWait bounds Also's wait for the first byte of output, which may be on its
	// way.
	hearWait = 2 * time.Second
)

// pipe is a running command.
type pipe struct {
	*child.Child
	host      bootstrap.Host
	name      string // the program
	trial     string // hint for errors
	expand    func(bootstrap.Host, []string) ([]string, error)
	inspect   *inspection // nil where no engine is known
	begun     time.Time
	killAfter time.Duration
	silence   time.Duration
	quiet     *time.Timer   // runs until the first byte of output; nil for none
	waits     *time.Timer   // runs until then, or the end: the user is told
	silent    atomic.Bool   // the timer has run out
	heard     atomic.Bool   // a byte of output was read
	first     chan struct{} // closed at that, or at the end of output
	spoke     sync.Once
	spoken    *atomic.Bool // a command of the Piper has
	closing   sync.Once
}

var (
	_ bootstrap.Pipe      = (*pipe)(nil)
	_ bootstrap.Explainer = (*pipe)(nil)
	_ bootstrap.Companion = (*pipe)(nil)
	_ bootstrap.Inspector = (*pipe)(nil)
)

// killGroup ends a command's process group. The group's number is not given
// anew while a member is left, and when the command itself has ended this is
// called at once after it was waited for.
func killGroup(c *child.Child) { _ = syscall.Kill(-c.Cmd.Process.Pid, syscall.SIGKILL) }

// giveUp ends a command that has said nothing for too long.
func (p *pipe) giveUp() {
	p.silent.Store(true)
	select {
	case <-p.Exited: // its group's number may be another's by now
	default:
		killGroup(p.Child)
	}
	p.CloseOutput()
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.Child.Read(b)
	if n > 0 && p.heard.CompareAndSwap(false, true) {
		p.spoken.Store(true)
		if p.quiet != nil {
			p.quiet.Stop()
		}
	}
	if n > 0 || err != nil {
		p.spoke.Do(func() {
			p.waits.Stop()
			close(p.first)
		})
	}
	return n, err
}

// tellSilence tells of a command that has said nothing for silentAfter, or for slowAfter.
func (p *pipe) tellSilence(ctx context.Context) {
	if p.spoken.Load() {
		rest := time.NewTimer(slowAfter - silentAfter)
		defer rest.Stop()
		select {
		case <-rest.C:
		case <-p.first:
			return
		case <-p.Exited:
			return
		case <-ctx.Done():
			return
		}
	}
	bootstrap.Await(ctx, path.Base(p.name)+" has said nothing yet")
}

// Close ends the command's input and output, waits for it to go, and kills its
// process group if it does not in time.
func (p *pipe) Close() error {
	p.closing.Do(func() {
		p.waits.Stop()
		if p.quiet != nil {
			p.quiet.Stop()
		}
		p.CloseFiles()
		p.Continue()
		if !p.Await(p.killAfter) {
			killGroup(p.Child)
			p.Await(closeWait)
		}
	})
	return nil
}

// Also runs the template once more, for another command on the host. It refuses to
// where nothing is heard of the first, which is being read: it may never have reached
// the host.
func (p *pipe) Also(ctx context.Context, argv []string) error {
	wait := time.NewTimer(hearWait)
	defer wait.Stop()
	select {
	case <-p.first:
	case <-wait.C:
	case <-ctx.Done():
	}
	if !p.heard.Load() {
		return fmt.Errorf("nothing was heard of %s, which may not have reached the host", path.Base(p.name))
	}
	words, err := p.expand(p.host, argv)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.Run()
}

// PeerAddr returns the address that the host's name resolved to, where it was asked.
func (p *pipe) PeerAddr() string { return p.host.Addr }

// Explain implements bootstrap.Explainer.
func (p *pipe) Explain(said string) *bootstrap.Error {
	e := &bootstrap.Error{Host: p.host.Name, Phase: bootstrap.Command, Hint: p.trial}
	name := path.Base(p.name)
	switch {
	case p.silent.Load():
		e.Phase, e.Permanent = bootstrap.Connect, true // it has had its time
		e.Err = fmt.Errorf("%s said nothing for %v", name, p.silence)
	case !p.AwaitStatus():
		e.Err = fmt.Errorf("%s closed its output before the agent spoke", name)
	default:
		e.Err = fmt.Errorf("%s ended before the agent spoke (%s)", name, p.Cmd.ProcessState)
		judge(e, p.name, p.Cmd.ProcessState.ExitCode(), said)
	}
	if said != "" {
		e.Err = fmt.Errorf("%w: %s", e.Err, said)
	}
	return e
}

package execboot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/bootstrap"
)

// stderrWait is how long, once the command has exited or closed its output,
// the rest of its standard error and its status are waited for; a descendant
// may hold standard error open for ever.
const stderrWait = 200 * time.Millisecond

// pipe is a running command. reap alone waits for the process; Close alone
// ends the pipe's files.
type pipe struct {
	host      bootstrap.Host
	name      string // the program
	trial     string // hint for errors
	template  *Template
	cmd       *exec.Cmd
	in, out   *os.File
	tail      bootstrap.Tail
	killAfter time.Duration
	silence   time.Duration
	quiet     *time.Timer   // runs until the first byte of output; nil for none
	silent    atomic.Bool   // the timer has run out
	heard     atomic.Bool   // a byte of output was read
	ended     atomic.Bool   // Read has seen the end of output
	exited    chan struct{} // closed once the command is reaped
	closing   sync.Once
}

var (
	_ bootstrap.Pipe      = (*pipe)(nil)
	_ bootstrap.Explainer = (*pipe)(nil)
	_ bootstrap.Companion = (*pipe)(nil)
)

// reap waits for the command, so that it never stays a zombie, and then ends
// what is left of its group. It ends with the command, which Close sees to.
func (p *pipe) reap() {
	_ = p.cmd.Wait() // Explain tells how it ended
	p.kill()
	close(p.exited)
}

// kill ends the command's process group. The group's number is not given anew
// while a member is left, and reap calls this at once after the last wait.
func (p *pipe) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// giveUp ends a command that has said nothing for too long.
func (p *pipe) giveUp() {
	p.silent.Store(true)
	select {
	case <-p.exited: // its group's number may be another's by now
	default:
		p.kill()
	}
	p.out.Close() // ends Read
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if p.quiet != nil && p.heard.CompareAndSwap(false, true) {
		p.quiet.Stop()
	}
	if errors.Is(err, io.EOF) {
		p.ended.Store(true)
	}
	return n, err
}

func (p *pipe) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends the command's input and output, waits for it to go, and kills its
// process group if it does not in time.
func (p *pipe) Close() error {
	p.closing.Do(func() {
		if p.quiet != nil {
			p.quiet.Stop()
		}
		p.in.Close()
		p.out.Close()
		select {
		case <-p.exited:
			return
		case <-time.After(p.killAfter):
		}
		p.kill()
		select {
		case <-p.exited:
		case <-time.After(stderrWait): // a process that the kernel does not let go
		}
	})
	return nil
}

func (p *pipe) Diagnostics() string {
	if p.ended.Load() {
		p.awaitExit()
	}
	return p.tail.String()
}

// awaitExit waits a moment for the command's status and the end of its
// standard error, and tells whether they are there.
func (p *pipe) awaitExit() bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(stderrWait):
		return false
	}
}

// Also runs the template once more, for another command on the host.
func (p *pipe) Also(ctx context.Context, argv []string) error {
	words, err := p.template.Expand(p.host, argv)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.Run()
}

// PeerAddr is the address that the host's name resolved to, where it was asked.
func (p *pipe) PeerAddr() string { return p.host.Addr }

// Explain implements bootstrap.Explainer.
func (p *pipe) Explain(said string) *bootstrap.Error {
	e := &bootstrap.Error{Host: p.host.Name, Phase: bootstrap.Command, Hint: p.trial}
	name := path.Base(p.name)
	switch {
	case p.silent.Load():
		e.Phase, e.Permanent = bootstrap.Connect, true // it has had its time
		e.Err = fmt.Errorf("%s said nothing for %v", name, p.silence)
	case !p.awaitExit():
		e.Err = fmt.Errorf("%s closed its output before the agent spoke", name)
	default:
		e.Err = fmt.Errorf("%s ended before the agent spoke (%s)", name, p.cmd.ProcessState)
	}
	if said != "" {
		e.Err = fmt.Errorf("%w: %s", e.Err, said)
	}
	return e
}

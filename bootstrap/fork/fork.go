// Package fork is the bootstrap of this machine: a Piper that runs the command
// as a child process and hands back its standard input and output as the pipe.
//
// The child leads a session of its own, so that a terminal's Ctrl-C, which
// goes to the foreground process group, never reaches it: the agent is ended
// by its link, not by the keyboard.
//
// Not here: Bulk (package bootstraptest has one for tests), staging (the child
// shares this machine's files), supervision of ranks (internal/proc).
package fork

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/bootstrap"
)

const (
	// closeWait bounds how long Close waits for the command to end by itself.
	closeWait = time.Second
	// defaultKillAfter leaves agents, which need two seconds at most (design
	// section 7), ample time to clean up.
	defaultKillAfter = 5 * time.Second
	// stderrWait is how long, once the command has exited or closed its
	// output, the rest of its standard error is waited for; a descendant may
	// hold it open for ever.
	stderrWait = 200 * time.Millisecond
)

// Piper starts commands as child processes of this one. The zero value is
// ready; it may be used from several goroutines and must not be copied.
type Piper struct {
	// KillAfter is how long after its pipe's Close a command may live on
	// before it is killed; 0 means five seconds.
	KillAfter time.Duration

	reapers sync.WaitGroup
}

var _ bootstrap.Piper = (*Piper)(nil)

// New returns a Piper for this machine.
func New() *Piper { return &Piper{} }

// Reach is Anywhere: every machine can fork.
func (*Piper) Reach() bootstrap.Reach { return bootstrap.Anywhere }

// NeedsStaging is false: the child sees this machine's files.
func (*Piper) NeedsStaging() bool { return false }

// Start runs argv with this process's environment and working directory.
func (f *Piper) Start(ctx context.Context, host bootstrap.Host, argv []string) (bootstrap.Pipe, error) {
	fail := func(err error, permanent bool, hint string) (bootstrap.Pipe, error) {
		return nil, &bootstrap.Error{Host: host.Name, Phase: bootstrap.Command, Err: err, Permanent: permanent, Hint: hint}
	}
	if len(argv) == 0 || argv[0] == "" {
		return fail(errors.New("no command given"), true, "")
	}
	if err := ctx.Err(); err != nil {
		return fail(err, false, "")
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return fail(err, false, "raise the limit on open files (ulimit -n)")
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return fail(err, false, "raise the limit on open files (ulimit -n)")
	}
	defer childOut.Close()

	p := &pipe{in: in, out: out, killAfter: f.KillAfter, exited: make(chan struct{})}
	if p.killAfter <= 0 {
		p.killAfter = defaultKillAfter
	}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, &p.tail
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.WaitDelay = stderrWait
	if err := p.cmd.Start(); err != nil {
		in.Close()
		out.Close()
		notThere := errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, exec.ErrNotFound)
		return fail(err, notThere, "")
	}
	f.reapers.Go(p.reap)
	return p, nil
}

// Wait returns once every command started so far has ended and was reaped. It
// is for orderly shutdown: once all pipes are closed it takes KillAfter at
// most.
func (f *Piper) Wait() { f.reapers.Wait() }

// pipe is a running child. reap alone waits for the process; Close alone ends
// the pipe's files.
type pipe struct {
	cmd       *exec.Cmd
	in, out   *os.File
	tail      bootstrap.Tail
	killAfter time.Duration
	ended     atomic.Bool   // Read has seen the end of output
	exited    chan struct{} // closed once the process is reaped
	once      sync.Once
}

var (
	_ bootstrap.Pipe      = (*pipe)(nil)
	_ bootstrap.Companion = (*pipe)(nil)
)

// reap waits for the child, so that it never stays a zombie. It ends with the
// process, which Close sees to: at the latest KillAfter later.
func (p *pipe) reap() {
	_ = p.cmd.Wait() // how it ended shows in its output, not here
	close(p.exited)
}

// Also runs another command on this machine.
func (p *pipe) Also(ctx context.Context, argv []string) error {
	return exec.CommandContext(ctx, argv[0], argv[1:]...).Run()
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if errors.Is(err, io.EOF) {
		p.ended.Store(true)
	}
	return n, err
}

func (p *pipe) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends the command's input and output and waits a second for it to go.
func (p *pipe) Close() error {
	p.once.Do(func() {
		p.in.Close()
		p.out.Close()
		kill := time.AfterFunc(p.killAfter, func() { _ = p.cmd.Process.Kill() })
		wait := time.NewTimer(closeWait)
		defer wait.Stop()
		select {
		case <-p.exited:
			kill.Stop()
		case <-wait.C:
		}
	})
	return nil
}

func (p *pipe) Diagnostics() string {
	if p.ended.Load() {
		wait := time.NewTimer(stderrWait)
		defer wait.Stop()
		select {
		case <-p.exited:
		case <-wait.C:
		}
	}
	return p.tail.String()
}

// PeerAddr is empty: the child is on this machine.
func (p *pipe) PeerAddr() string { return "" }

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
	"cmp"
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/internal/child"
)

const (
	// closeWait bounds Close's wait for a command that it has killed.
	closeWait = time.Second
	// defaultKillAfter leaves agents, which need two seconds at most
	// (docs/architecture.md), ample time to clean up.
	defaultKillAfter = 5 * time.Second
)

// Piper starts commands as child processes of this one. The zero value is
// ready; it may be used from several goroutines and must not be copied.
type Piper struct {
	// KillAfter is the time after its pipe's Close until a command is killed; 0 means
	// five seconds.
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
	c, err := child.Start(argv, &f.reapers, nil)
	switch {
	case err == nil:
		return &pipe{Child: c, killAfter: cmp.Or(f.KillAfter, defaultKillAfter)}, nil
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fail(err, false, "raise the limit on open files (ulimit -n)")
	}
	return fail(err, child.NeverWorks(err), "")
}

// Wait returns once every command started so far has ended and was reaped. It
// is for orderly shutdown: once all pipes are closed it takes KillAfter at
// most.
func (f *Piper) Wait() { f.reapers.Wait() }

// pipe is a running child.
type pipe struct {
	*child.Child
	killAfter time.Duration
	once      sync.Once
}

var (
	_ bootstrap.Pipe      = (*pipe)(nil)
	_ bootstrap.Companion = (*pipe)(nil)
)

// Also runs another command on this machine.
func (p *pipe) Also(ctx context.Context, argv []string) error {
	return exec.CommandContext(ctx, argv[0], argv[1:]...).Run()
}

// Close ends the command's input and output and waits for it to go, after
// KillAfter by force: nobody is left to do that later.
func (p *pipe) Close() error {
	p.once.Do(func() {
		p.CloseFiles()
		p.Continue()
		if !p.Await(p.killAfter) {
			_ = p.Cmd.Process.Kill()
			p.Await(closeWait)
		}
	})
	return nil
}

// PeerAddr is empty: the child is on this machine.
func (p *pipe) PeerAddr() string { return "" }

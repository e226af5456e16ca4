// Package execboot is the bootstrap of any command: a Piper that runs a
// template such as "docker exec -i {host} {command}" here and hands back the
// command's standard input and output as the pipe.
//
// The command leads a session of its own: a terminal's Ctrl-C does not reach
// it, and it has no terminal to ask for a password on. Close ends its whole
// process group.
//
// Not here: relays, which open the pipes where only the launcher's host can
// (packages launcher and overlay).
package execboot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/internal/child"
)

// defaultKillAfter leaves an agent, which needs two seconds at most
// (docs/architecture.md), time to clean up.
const defaultKillAfter = 2 * time.Second

// Times of silence of a command until the user is told: while none has said a word yet,
// as where its engine does not answer; and after others have, for then it may only be
// slow, on a machine that has much to do.
const (
	silentAfter = time.Second
	slowAfter   = 5 * time.Second
)

// Config configures a Piper. Template is required.
type Config struct {
	Template *Template
	// FromNodes says that the template works on any node too.
	FromNodes bool
	// Here is the name of the host that this process is on, where agents are started
	// without the template; "" where it takes that, too.
	Here string
	// Silence is the time that a command may take to its first byte of output; 0 is for
	// ever.
	Silence time.Duration
	// KillAfter is the time after Close until a command's process group is killed; 0
	// means two seconds.
	KillAfter time.Duration
}

// Piper starts commands by a template. It may be used from several goroutines.
type Piper struct {
	cfg     Config
	reapers sync.WaitGroup
	spoken  atomic.Bool // a command has
}

var _ bootstrap.Piper = (*Piper)(nil)

// New returns a Piper for c.
func New(c Config) *Piper {
	if c.KillAfter <= 0 {
		c.KillAfter = defaultKillAfter
	}
	return &Piper{cfg: c}
}

// Reach is LauncherOnly unless the user gave their word for the nodes.
func (x *Piper) Reach() bootstrap.Reach {
	if x.cfg.FromNodes {
		return bootstrap.Anywhere
	}
	return bootstrap.LauncherOnly
}

// NeedsStaging is true: hosts share no files with this one, for all we know.
func (*Piper) NeedsStaging() bool { return true }

// Start runs the template for host and argv with this process's environment
// and working directory.
func (x *Piper) Start(ctx context.Context, host bootstrap.Host, argv []string) (bootstrap.Pipe, error) {
	fail := func(phase bootstrap.Phase, err error, permanent bool, hint string) (bootstrap.Pipe, error) {
		return nil, &bootstrap.Error{Host: host.Name, Phase: phase, Err: err, Permanent: permanent, Hint: hint}
	}
	if host.Addr == "" && x.cfg.Template.Uses("addr") {
		if host.Addr = lookUp(ctx, host.Name); host.Addr == "" {
			return nil, &bootstrap.Error{
				Host: host.Name, Phase: bootstrap.Resolve, Err: errors.New("its name does not resolve, and {addr} is in --exec-command"),
				Absent: bootstrap.NoName, Awaited: "its name is not known yet", Hint: "use {host}, or name the hosts by their addresses",
			}
		}
	}
	words, err := x.expand(host, argv)
	if err != nil {
		return fail(bootstrap.Command, err, true, "")
	}
	if err := ctx.Err(); err != nil {
		return fail(bootstrap.Command, err, false, "")
	}
	begun := time.Now()
	done := bootstrap.BeginStep(ctx, bootstrap.Command)
	p, err := x.start(words)
	done()
	switch {
	case err == nil:
	case child.NeverWorks(err):
		return fail(bootstrap.Command, fmt.Errorf("%s cannot be run: %w", words[0], reason(err)), true,
			"is it installed where golaunch runs?")
	default:
		return fail(bootstrap.Command, err, false, "raise the limits on open files and processes (ulimit -n, ulimit -u)")
	}
	p.host, p.expand, p.begun = host, x.expand, begun
	if x.cfg.Here == "" || host.Name != x.cfg.Here {
		p.inspect = x.cfg.Template.inspection(host)
	}
	p.spoken = &x.spoken
	p.waits = time.AfterFunc(silentAfter, func() { p.tellSilence(ctx) })
	p.trial = x.trial(host)
	return p, nil
}

// expand returns the command line that runs argv on a host.
func (x *Piper) expand(host bootstrap.Host, argv []string) ([]string, error) {
	if x.cfg.Here != "" && host.Name == x.cfg.Here && len(argv) > 0 {
		return argv, nil
	}
	return x.cfg.Template.Expand(host, argv)
}

// start starts the words and the goroutine that reaps them.
func (x *Piper) start(words []string) (*pipe, error) {
	c, err := child.Start(words, &x.reapers, killGroup) // the rest of its group, at its end
	if err != nil {
		return nil, err
	}
	p := &pipe{Child: c, name: words[0], killAfter: x.cfg.KillAfter, silence: x.cfg.Silence, first: make(chan struct{})}
	if p.silence > 0 {
		p.quiet = time.AfterFunc(p.silence, p.giveUp)
	}
	return p, nil
}

// trial returns a command for the user to see whether the template works for a host.
func (x *Piper) trial(host bootstrap.Host) string {
	words, err := x.expand(host, []string{"true"})
	if err != nil {
		return ""
	}
	line, err := bootstrap.CommandLine(words)
	if err != nil {
		return ""
	}
	own := slices.Contains(engines, path.Base(words[0])) // an engine starts its arguments without a shell
	if !own && slices.ContainsFunc(x.cfg.Template.words, templateWord.becomesWords) {
		return "try " + line + "; if a shell reads the command on its way, write '{command}' in quotes"
	}
	return "try " + line
}

// Wait returns once every command started so far has ended and was reaped. It
// is for orderly shutdown: once all pipes are closed it returns soon.
func (x *Piper) Wait() { x.reapers.Wait() }

// reason is the cause of a failed start without the program's name.
func reason(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

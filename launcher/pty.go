package launcher

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// userTerminal is the terminal that golaunch was called at, while somebody types there
// for the terminal of rank 0 (--pty). It is in raw mode as long as rank 0 reads it: every
// byte is for rank 0 then, Ctrl-C too. A nil one is without --pty.
type userTerminal struct {
	stdio   IO
	report  *reporter
	size    unix.Window // that rank 0's was given last
	restore func()      // its state from before; nil before it was raw
	raw     bool
	ended   bool // it is raw no more
}

// usualWindow is the size of rank 0's terminal where golaunch has none.
var usualWindow = unix.Window{Rows: 24, Columns: 80}

func newUserTerminal(stdio IO, report *reporter) *userTerminal {
	return &userTerminal{stdio: stdio, report: report}
}

// window returns the size of the terminal that golaunch has as any of its streams.
func (t *userTerminal) window() unix.Window {
	for _, stream := range []any{t.stdio.Stdin, t.stdio.Stdout, t.stdio.Stderr} {
		f, ok := stream.(*os.File)
		if !ok || f == nil {
			continue
		}
		if w := unix.WindowOf(f); w.Rows > 0 && w.Columns > 0 {
			return w
		}
	}
	return usualWindow
}

// ask returns the size of rank 0's terminal for the launch message, nil for no
// terminal.
func (t *userTerminal) ask() *unix.Window {
	if t == nil {
		return nil
	}
	t.size = t.window()
	size := t.size
	return &size
}

// enter puts the terminal in raw mode, unless it is, or is another job's.
func (t *userTerminal) enter() {
	if t == nil || t.raw || t.ended || t.stdio.Stdin == nil || !unix.IsTerminal(t.stdio.Stdin) || !unix.Foreground(t.stdio.Stdin) {
		return
	}
	var restore func()
	err := t.report.changeMode(true, func() (err error) {
		restore, err = unix.Raw(t.stdio.Stdin)
		return err
	})
	if err != nil {
		t.report.Say("--pty: the terminal stays as it is: %v", err)
		return
	}
	if t.restore == nil { // later it may be raw from before
		t.restore = restore
	}
	t.raw = true
}

// leave restores the terminal's state before enter, unless it is another job's.
func (t *userTerminal) leave() {
	if t == nil || !t.raw {
		return
	}
	t.raw = false
	_ = t.report.changeMode(false, func() error {
		if unix.Foreground(t.stdio.Stdin) {
			t.restore()
		}
		return nil
	})
}

// end leaves for good.
func (t *userTerminal) end() {
	if t != nil {
		t.leave()
		t.ended = true
	}
}

// ptyOutput passes on the output of rank 0's terminal, byte for byte. Output before the
// user's terminal is raw waits for that: the terminal would show its line ends as its
// own. A nil one takes nothing.
type ptyOutput struct {
	rank  job.RankID // rank 0 of the own world
	to    terminal
	begun bool
	early []byte
}

// mostEarly bounds output that waits, in bytes.
const mostEarly = 1 << 20

func (o *ptyOutput) show(b []byte) error {
	if !o.begun && len(o.early)+len(b) <= mostEarly {
		o.early = append(o.early, b...)
		return nil
	}
	if err := o.begin(); err != nil {
		return err
	}
	return o.to.show(b)
}

// begin shows output that has waited.
func (o *ptyOutput) begin() error {
	if o == nil || o.begun {
		return nil
	}
	early := o.early
	o.begun, o.early = true, nil
	if len(early) == 0 {
		return nil
	}
	return o.to.show(early)
}

// showOwn has the output of rank 0's terminal wait no longer.
func (p *printer) showOwn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.own.begin(); p.err == nil {
		p.err = err
	}
}

// resize has rank 0's terminal follow the size of the user's, once there is one.
func (in *input) resize() {
	if in.terminal == nil || !in.job.worlds.running() {
		return
	}
	if size := in.terminal.window(); size != in.terminal.size {
		in.terminal.size = size
		in.job.broadcast(link.Control, overlay.KindResize, overlay.Encode(size))
	}
}

// given returns the variables for all ranks; with a terminal its kind is among them,
// first, so that the user's own value counts more.
func (r *run) given() []string {
	if r.options.Launch.Names == overlay.SlurmNames {
		return slices.Concat(stepNames(r.plan), r.ownGiven())
	}
	return r.ownGiven()
}

// ownGiven returns given without srun's variables.
func (r *run) ownGiven() []string {
	i := slices.IndexFunc(r.options.Boot.Environ, func(kv string) bool { return strings.HasPrefix(kv, "TERM=") })
	if r.input.terminal == nil || i < 0 {
		return r.options.Programs.EnvGiven
	}
	return slices.Concat(r.options.Boot.Environ[i:i+1], r.options.Programs.EnvGiven)
}

// checkPTY refuses options that exclude InputOptions.PTY.
func (o *Options) checkPTY() error {
	switch {
	case !o.Input.PTY:
	case o.Input.Stdin != 0:
		return errors.New("--pty: rank 0 has the terminal, and nobody else reads it; leave out --stdin")
	case o.Output.Label != "" || o.Output.Fold || o.Output.OutPattern != "" || o.Output.ErrPattern != "" || o.Output.LogDir != "":
		return errors.New("--pty shows what rank 0 writes as it is; leave out --label, --fold, --out, --err and --log-dir")
	case o.Output.Show != "":
		return errors.New("--pty shows what rank 0 writes; leave out --show")
	case o.Ending.Restarts > 0:
		return errors.New("--pty and --restarts exclude each other: what was typed cannot be typed again")
	}
	return nil
}

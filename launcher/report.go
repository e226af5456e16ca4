package launcher

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
)

// maxFurther bounds the failures beyond the cause that a message lists; maxDead the
// lines of dead hosts.
const (
	maxFurther = 8
	maxDead    = 20
)

// reporter writes golaunch's own words: to standard error, each line beginning with
// "golaunch: ", so that the ranks' output stays unchanged.
type reporter struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool // only reasons of a nonzero exit status are said
	line  lineOfRanks
	raw   bool // the user's terminal takes a newline for a step down

	// screen has an element while ranks' lines are written to a terminal, be it stopped, or
	// its mode is changed: a lock that takeScreen waits for with a limit. It is taken before
	// mu, and never to say something.
	screen chan struct{}

	status *statusLine // nil where none is to be shown
}

// lineOfRanks is the state of the last line that ranks wrote where golaunch's words go.
type lineOfRanks uint8

const (
	lineEnded lineOfRanks = iota
	lineOpen              // without a newline so far
	lineCutIn             // golaunch has ended it, to begin a line of its own
)

// newReporter returns a reporter, which shows progress where somebody sits and
// has not asked for quiet.
func newReporter(w io.Writer, quiet bool) *reporter {
	p := &reporter{w: w, quiet: quiet, screen: make(chan struct{}, 1)}
	if !quiet {
		p.status = newStatusLine(w)
	}
	return p
}

// Say writes a message, which may have several lines.
func (p *reporter) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.TrimRight(printable(fmt.Sprintf(format, args...)), "\n")
	p.status.erase()
	text = "golaunch: " + strings.ReplaceAll(text, "\n", "\ngolaunch: ") + "\n"
	if p.line == lineOpen {
		p.line = lineCutIn
		text = "\n" + text
	}
	_, _ = p.w.Write(p.forRaw(p.w, []byte(text))) // a closed one has no reader
}

// modeWait bounds the wait of a change of the terminal's mode for the end of a line. It
// goes on without, as a stopped terminal takes none.
const modeWait = 100 * time.Millisecond

// changeMode has change put the user's terminal in raw mode, or take it out of that, between
// lines that are written.
func (p *reporter) changeMode(raw bool, change func() error) error {
	if p.takeScreen(modeWait) {
		defer p.leaveScreen()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := change(); err != nil {
		return err
	}
	p.raw = raw
	return nil
}

// takeScreen takes the screen, unless others hold it for so long.
func (p *reporter) takeScreen(limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case p.screen <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}

func (p *reporter) leaveScreen() { <-p.screen }

// write writes lines of text as w shows them as such.
func (p *reporter) write(w io.Writer, text []byte) (int, error) {
	if f, ok := w.(*os.File); !ok || !unix.IsTerminal(f) {
		return w.Write(text)
	}
	p.screen <- struct{}{}
	defer p.leaveScreen()
	p.mu.Lock()
	text = p.forRaw(w, text)
	p.mu.Unlock()
	return w.Write(text)
}

func (p *reporter) forRaw(w io.Writer, text []byte) []byte {
	if f, ok := w.(*os.File); !p.raw || !ok || !unix.IsTerminal(f) {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
}

// among takes the text that ranks are about to write where golaunch's words go, and
// reports whether they are to: not the newline of a line that golaunch has ended.
func (p *reporter) among(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.line == lineCutIn && string(b) == "\n"
	if p.line = lineEnded; len(b) > 0 && b[len(b)-1] != '\n' {
		p.line = lineOpen
	}
	return !done
}

// printable replaces characters that do not print, or that steer the terminal: much of
// the text comes from hosts and programs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// quoted marks the lines after the first of another program's or an agent's text, so
// that nobody takes them for golaunch's own.
func quoted(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  | ")
}

// Note writes a message that the user may want to know, unless they asked for quiet.
func (p *reporter) Note(format string, args ...any) {
	if !p.quiet {
		p.Say(format, args...)
	}
}

// lineCut tells of a line that could not be printed whole.
func (p *reporter) lineCut(c stdio.LineCut) {
	p.Say("rank %v: a line of its %v was cut after %d bytes: %v", c.Rank, c.Stream, c.Kept, c.Err)
}

// dead lists those of so many hosts on which no agent could be started, and the
// relays.
func (p *reporter) dead(plan *Plan, dead []overlay.DeadHost, of int, allowed bool) {
	say := p.Say
	if allowed {
		say = p.Note
	}
	relays := plan.deadRelays(dead)
	told := 0
	var b strings.Builder
	if hosts := len(dead) - relays; hosts > 0 {
		fmt.Fprintf(&b, "%d of %s could not be started:", hosts, plural(of, "host"))
	} else {
		fmt.Fprintf(&b, "%d of %s on this machine failed:", relays, count(len(plan.Relays), "relay", "relays"))
	}
	for i, g := range foldDead(dead, plan.hostName) {
		if i == maxDead {
			fmt.Fprintf(&b, "\n  ... and %d more", len(dead)-told)
			break
		}
		told += len(g.hosts)
		fmt.Fprintf(&b, "\n  %s: %s: %s", hostsText(g.hosts, plan.hostName), g.Phase, quoted(g.Cause))
		if g.Hint != "" {
			fmt.Fprintf(&b, " (%s)", quoted(g.Hint))
		}
	}
	switch {
	case relays > 0:
		b.WriteString("\nnothing was run: golaunch does not reach the hosts without its relays")
	case !allowed:
		b.WriteString("\n" + notRun(plan, len(dead), of))
	}
	say("%s", b.String())
}

// notRun says that nothing was run, since so many of the hosts that were tried are
// dead, with a remedy, if there is one.
func notRun(p *Plan, dead, of int) string {
	text := "nothing was run"
	if p.Spares > 0 {
		text += fmt.Sprintf(": %s too few for %s", count(p.Spares, "spare is", "spares are"), plural(dead, "dead host"))
	}
	if dead < of || p.mayReplace() {
		text += "; --allow-dead-nodes goes on without them if slots suffice"
	}
	return text
}

// failure tells the cause of the job's failure.
func (p *reporter) failure(r *run, cause job.Failure) {
	if r.options.Programs.Singleton && cause.Class == job.CauseNoFinalize { // of the bridge, unknown to the user
		p.Say("the program ended without MPI_Finalize")
		return
	}
	p.Say("%s", describe(cause, r.hostName, r.heldBy))
	further, more := r.verdict.further()
	for _, f := range further {
		p.Say("then %s", describe(f, r.hostName, r.heldBy))
	}
	if alike := r.verdict.alike; alike > 0 {
		p.Say("and %s not started for the same reason", count(alike, "more rank was", "more ranks were"))
	}
	if more > 0 {
		p.Say("and %s", count(more, "more failure", "more failures"))
	}
	if ran := r.total.Ended - r.total.Never; ran > 0 {
		p.Note("%s ended", count(ran, "other rank was", "other ranks were"))
	}
}

// count renders n with the noun that fits it.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// describe renders a failure as one line: rank, host, pid, event and, where that tells
// something, phase; of a host that failed also the ranks that it held.
func describe(f job.Failure, hostName func(job.HostIndex) string, heldBy map[job.HostIndex]string) string {
	host := hostName(f.Host)
	f.Text = quoted(f.Text)
	phase := ""
	if f.Phase != phaseRunning && f.Phase != "" {
		phase = ", " + f.Phase
	}
	if f.Rank < 0 {
		if ranks := heldBy[f.Host]; ranks != "" {
			host += " (" + ranks + ")"
		}
		if phase != "" {
			host += ": " + f.Phase
		}
		return fmt.Sprintf("host %s: %s", host, f.Text)
	}
	subject := fmt.Sprintf("rank %v on %s", job.RankID{World: f.World, Rank: f.Rank}, host)
	if f.PID > 0 {
		subject += fmt.Sprintf(" (pid %d)", f.PID)
	}
	extra := ""
	if f.Text != "" && f.Text != noMessage {
		extra = ": " + f.Text
	}
	switch f.Class {
	case job.CauseAbort:
		return fmt.Sprintf("%s called abort with code %d%s%s", subject, f.Code, phase, extra)
	case job.CauseSignal:
		if f.Text != "" && syscall.Signal(f.Signal) == syscall.SIGKILL { // by whom
			return fmt.Sprintf("%s was killed by signal %d: %s%s", subject, f.Signal, f.Text, phase)
		}
		return fmt.Sprintf("%s was killed by signal %d (%v)%s%s", subject, f.Signal, syscall.Signal(f.Signal), phase, extra)
	case job.CauseExit:
		return fmt.Sprintf("%s exited with code %d%s%s", subject, f.Code, phase, extra)
	case job.CauseNoFinalize:
		return fmt.Sprintf("%s exited with code 0 but without MPI_Finalize%s%s", subject, phase, extra)
	case job.CauseStart:
		return fmt.Sprintf("%s was not started%s", subject, extra)
	case job.CauseProtocol:
		if f.Phase == job.PhasePMGR {
			return fmt.Sprintf("%s broke the PMGR protocol%s", subject, extra)
		}
		if f.Phase == job.PhaseAlone {
			return fmt.Sprintf("%s is a world of its own, rank 0 of 1%s", subject, extra)
		}
		if f.Phase == job.PhaseTree || f.Phase == job.PhasePMIx {
			return fmt.Sprintf("%s broke the protocol of %s%s", subject, f.Phase, extra)
		}
		return fmt.Sprintf("%s broke the PMI protocol%s%s", subject, phase, extra)
	}
	return fmt.Sprintf("%s failed%s%s", subject, phase, extra)
}

const (
	phaseRunning = "running" // of a failure that no phase explains better
	noMessage    = "N/A"     // Open MPI's, with every abort
)

// timing prints the phase table.
func (p *reporter) timing(r *run) {
	p.Say("%s\n%v", r.account.shape(), r.account.phaseTable())
}

// shape renders the size of the job and of its tree.
func (acc *account) shape() string {
	return fmt.Sprintf("%s on %s, degree %d", plural(acc.job.plan.Size, "rank"), plural(len(acc.job.tree.Hosts().Live), "node"), acc.job.plan.Degree)
}

package launcher

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
)

// output is the ranks' output, on its way to the user.
type output struct {
	job      *run
	printer  *printer // safe for many goroutines
	printing printing
	unheard  bool // it cannot be written
}

// printer writes the ranks' output to the places that the user chose: whole lines on
// golaunch's own streams, or files named by --out and --err. It is called from the
// goroutine that reads the root's output and from a timer.
type printer struct {
	report   *reporter
	patterns stdio.PatternSet
	jobID    string

	mu    sync.Mutex
	dests map[stdio.Stream]*stdio.Assembler // golaunch's own streams
	files *files
	timer *time.Timer // shows unfinished lines that rest
	err   error
	plans map[int]*Plan  // by world, until its output ends
	fold  *fold          // of standard output; nil without --fold
	tee   bool           // the streams have output of files, too
	shown shownRanks     // of which ranks; with it tee is set
	begun bool           // it has a world
	among map[int][]bool // by world, which of its ranks they are; nil is all
	own   *ptyOutput     // output of rank 0's terminal, byte for byte, with --pty; else nil
}

func newPrinter(o Options, plan *Plan, jobID string, own IO, report *reporter) (*printer, error) {
	patterns, err := stdio.ParsePatterns(o.Output.OutPattern, o.Output.ErrPattern)
	if err != nil {
		return nil, err
	}
	p := &printer{report: report, patterns: patterns, jobID: jobID, dests: map[stdio.Stream]*stdio.Assembler{}, plans: map[int]*Plan{}, among: map[int][]bool{}, tee: o.teed()}
	if p.shown, err = parseShown(o.Output.Show); err == nil && !o.attempt.appendOut { // hosts may hold fewer ranks after a restart
		err = p.shown.check(plan)
	}
	for _, st := range outputs {
		err = cmp.Or(err, p.check(plan, st))
	}
	if err != nil {
		return nil, job.Exit(job.ExitUsage, "%w", err)
	}
	onePlace := samePlace(own.Stdout, own.Stderr)
	out := terminal{own, onePlace, report}
	if o.Input.PTY {
		p.own = &ptyOutput{to: out}
	}
	config := stdio.AssemblerConfig{Ranks: plan.Size, Label: o.Output.Label != "", LineMax: o.Output.LineMax, Out: out}
	if config.LabelText, err = p.label(o.Output.Label); err != nil {
		return nil, job.Exit(job.ExitUsage, "%w", err)
	}
	if o.Output.Fold {
		if p.fold, err = newFold(own.Stdout); err != nil {
			return nil, err
		}
	}
	if !own.atTerminal() {
		config.ShowAfter = -1 // its reader is a program, which wants whole lines
	}
	merged, err := stdio.NewAssembler(config)
	if err != nil {
		return nil, err
	}
	p.dests[stdio.Stdout], p.dests[stdio.Stderr] = merged, merged
	if !onePlace {
		// Bytes for one file must not depend on those for the other.
		if p.dests[stdio.Stderr], err = stdio.NewAssembler(config); err != nil {
			return nil, err
		}
	}
	p.files = newFiles(config, report)
	p.files.more, p.files.made = o.attempt.appendOut, o.attempt.outMade
	return p, nil
}

// Words of OutputOptions.Label.
const (
	LabelRank = "rank"
	LabelHost = "host"
)

// label returns the text of labels that a word or a pattern stands for; nil is that of
// package stdio.
func (p *printer) label(text string) (func(b []byte, r job.RankID, at time.Time) []byte, error) {
	if text == "" || text == LabelRank {
		return nil, nil
	}
	pattern, err := labelPattern(text)
	if err != nil {
		return nil, err
	}
	return func(b []byte, r job.RankID, at time.Time) []byte {
		host := ""
		if plan := p.plans[r.World]; plan != nil {
			host = plan.Hosts[plan.Blocks.hostOf(r.Rank)].Name
		}
		return append(b, pattern.Label(r, host, p.jobID, at)...)
	}, nil
}

// labelPattern returns the pattern that a value of OutputOptions.Label stands for, that
// of no label for LabelRank and none.
func labelPattern(text string) (stdio.Pattern, error) {
	switch text {
	case "", LabelRank:
		return stdio.Pattern{}, nil
	case LabelHost:
		text = "[%r@%h] "
	}
	pattern, err := stdio.ParseLabel(text)
	if err != nil {
		return pattern, fmt.Errorf("--label: %w", err)
	}
	return pattern, nil
}

// outputs are the streams of ranks that may go to files.
var outputs = []stdio.Stream{stdio.Stdout, stdio.Stderr}

// check finds bad patterns for a stream, before anything is made.
func (p *printer) check(plan *Plan, st stdio.Stream) error {
	pattern := p.patterns.For(st)
	if !pattern.Given() {
		return nil
	}
	if dir := pattern.Dir(); dir != "" {
		if _, err := os.Stat(dir); err != nil {
			return p.wrong(st, fmt.Errorf("%w; make the directory first", err))
		}
	}
	path := p.path(plan, job.RankID{}, st)
	if path == standardOutput {
		return p.wrong(st, fmt.Errorf("output goes to golaunch's own streams without the flag; a file of that name is ./%s", path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return p.wrong(st, fmt.Errorf("%s is a directory; give files in it, such as %s", path, filepath.Join(path, "%r")))
	}
	return nil
}

// wrong returns an error of the flag that names the files of a stream.
func (p *printer) wrong(st stdio.Stream, err error) error {
	flag := "--out"
	if st == stdio.Stderr {
		flag = "--err"
	}
	return fmt.Errorf("%s %v: %w", flag, p.patterns.For(st), err)
}

// atTerminal reports whether any of the streams is a terminal: somebody may wait for a
// prompt.
func (s IO) atTerminal() bool {
	if s.Stdin != nil && unix.IsTerminal(s.Stdin) {
		return true
	}
	for _, w := range []io.Writer{s.Stdout, s.Stderr} {
		if f, ok := w.(*os.File); ok && unix.IsTerminal(f) {
			return true
		}
	}
	return false
}

// prepare takes a world in and creates the output files of its ranks, so that a
// missing directory shows before anything runs and no stale file of an earlier
// run survives.
func (p *printer) prepare(world int, plan *Plan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans[world], p.among[world] = plan, p.shown.of(plan)
	if p.begun { // nobody knows how many ranks follow
		for _, d := range p.dests {
			d.SetRanks(0)
		}
	}
	p.begun = true
	for _, st := range outputs {
		if !p.patterns.For(st).Given() {
			continue
		}
		for r := range job.Rank(plan.Size) {
			if err := p.files.create(p.path(plan, job.RankID{World: world, Rank: r}, st)); err != nil {
				return p.wrong(st, err)
			}
			if !p.patterns.PerRank(st) && !p.patterns.For(st).PerHost() {
				break
			}
		}
	}
	return nil
}

// end notes the end of a world's output. At the end of every world's, the rest is
// printed.
func (p *printer) end(world int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.plans, world)
	delete(p.among, world)
	if err := p.own.begin(); p.err == nil {
		p.err = err
	}
	if len(p.plans) > 0 {
		return p.err
	}
	return p.flush()
}

func (p *printer) path(plan *Plan, r job.RankID, st stdio.Stream) string {
	return p.patterns.For(st).Expand(r, plan.Hosts[plan.Blocks.hostOf(r.Rank)].Name, p.jobID)
}

// print takes a message of output records.
func (p *printer) print(body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	err := overlay.Chunks(body, func(c overlay.Chunk) {
		r, st, data := c.Rank, c.Stream, c.Data
		if p.err != nil {
			return
		}
		plan := p.plans[r.World]
		if plan == nil || int(r.Rank) >= plan.Size || st != stdio.Stdout && st != stdio.Stderr {
			p.err = fmt.Errorf("output of rank %v, stream %d does not exist", r, st)
			return
		}
		if p.own != nil && r == p.own.rank {
			p.err = p.own.show(data)
			return
		}
		if c.At.IsZero() {
			c.At = now
		}
		if p.patterns.For(st).Given() {
			dest, err := p.files.dest(p.path(plan, r, st))
			if p.err = err; err == nil {
				p.err = pour(dest, now, c)
			}
			if !p.tee {
				return
			}
		}
		if p.err == nil && p.shows(r) {
			p.err = p.show(now, c)
		}
	})
	if p.err == nil {
		p.err = err
	}
	p.schedule(now)
	return p.err
}

// shows reports whether golaunch's own streams are to have the output of a rank.
func (p *printer) shows(r job.RankID) bool {
	among := p.among[r.World]
	return among == nil || among[r.Rank]
}

// show has output on golaunch's own streams.
func (p *printer) show(now time.Time, c overlay.Chunk) error {
	if p.fold == nil || c.Stream != stdio.Stdout {
		return pour(p.dests[c.Stream], now, c)
	}
	plan := p.plans[c.Rank.World]
	host := plan.Blocks.hostOf(c.Rank.Rank)
	return p.fold.add(c.Rank, host, plan.Hosts[host].Name, c.Data)
}

// pour hands a chunk to its destination.
func pour(dest *stdio.Assembler, now time.Time, c overlay.Chunk) error {
	if len(c.Data) == 0 {
		return dest.End(c.Rank, c.Stream)
	}
	return dest.AddAt(now, c.At, c.Rank, c.Stream, c.Data)
}

// schedule sets the timer for the next unfinished line to be shown; p.mu is
// held. Only golaunch's own streams have a reader who waits for a prompt.
func (p *printer) schedule(now time.Time) {
	var next time.Time
	for _, d := range p.dests {
		if at, ok := d.Next(); ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		return
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(next.Sub(now), p.tick)
		return
	}
	p.timer.Reset(next.Sub(now))
}

func (p *printer) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, d := range p.dests {
		if p.err == nil {
			p.err = d.Tick(now)
		}
	}
	p.schedule(now)
}

// flush prints the rest when every stream has ended; p.mu is held.
func (p *printer) flush() error {
	for _, d := range p.dests {
		if p.err == nil {
			p.err = d.EndAll()
		}
	}
	if err := p.files.flush(); p.err == nil {
		p.err = err
	}
	if p.err == nil && p.fold != nil {
		p.err = p.fold.show()
	}
	return p.err
}

// failed ends the job. All output that still comes fails as well: only the
// first of it is told, and ends anything.
func (out *output) failed(err error) {
	if out.unheard {
		return
	}
	out.unheard = true
	if errors.Is(err, errUnread) {
		out.job.verbose(1, "%v: the job is ended", err)
		out.job.giveUp(job.ExitPIPE, 0)
		return
	}
	out.job.giveUpFor(fmt.Errorf("the output cannot be written: %w", err))
}

// close stops the timer, and shows folded output if the job's output had no end.
func (p *printer) close() {
	p.showOwn()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fold != nil {
		if err := p.fold.show(); err != nil && p.err == nil {
			p.report.Say("the output cannot be written: %v", err)
		}
		p.fold.close()
	}
	if p.timer != nil {
		p.timer.Stop()
	}
}

// errUnread is the error of golaunch's own streams whose reader has gone.
var errUnread = errors.New("nobody reads the output any more")

// terminal is the stdio.Output of golaunch's own streams.
type terminal struct {
	IO
	onePlace bool // both streams are one terminal, pipe or file
	report   *reporter
}

// Write implements stdio.Output.
func (t terminal) Write(s stdio.Stream, b []byte) error {
	t.report.status.end()
	w := t.Stdout
	if s == stdio.Stderr {
		w = t.Stderr
	}
	if (s == stdio.Stderr || t.onePlace) && !t.report.among(b) {
		return nil
	}
	return unread(t.report.write(w, b))
}

// show writes the output of rank 0's terminal.
func (t terminal) show(b []byte) error {
	if len(b) == 0 { // its end, without a newline
		return nil
	}
	if t.onePlace {
		t.report.among(b)
	}
	return unread(t.Stdout.Write(b))
}

// unread returns the error of a write to golaunch's own streams.
func unread(_ int, err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return errUnread
	}
	return err
}

// NewSpill implements stdio.Output.
func (t terminal) NewSpill() (stdio.Spill, error) { return newSpill() }

// LineCut implements stdio.Output.
func (t terminal) LineCut(c stdio.LineCut) { t.report.lineCut(c) }

// newSpill makes an unlinked temporary file.
func newSpill() (stdio.Spill, error) {
	f, err := os.CreateTemp("", "golaunch-line-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// samePlace reports whether two writers are the same open terminal, pipe or
// file.
func samePlace(a, b io.Writer) bool {
	x, ok := a.(*os.File)
	y, ok2 := b.(*os.File)
	if !ok || !ok2 {
		return a == b
	}
	s, err := x.Stat()
	t, err2 := y.Stat()
	return err == nil && err2 == nil && os.SameFile(s, t)
}

package launcher

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

const (
	progressAfter = time.Second            // a shorter start shows nothing
	progressEvery = 250 * time.Millisecond // at most so often is it drawn anew
	stallsAfter   = 3 * time.Second        // a host that takes longer may not be well: its phase is told
)

// progress shows the state of a start-up that takes long.
type progress struct {
	job   *run
	timer *time.Timer
}

// progressDue is the event of the time to show it.
type progressDue struct{}

// watch begins to show the state of the start-up, if somebody sits there.
func (p *progress) watch() {
	if p.job.report.status != nil {
		p.timer = p.job.tree.PostAfter(max(0, progressAfter-time.Since(p.job.account.began)), progressDue{})
	}
}

// show draws the line, until all ranks run.
func (p *progress) show() {
	if p.job.worlds.running() || p.job.killed || p.job.over {
		return
	}
	p.job.report.status.draw(p.text())
	p.timer.Reset(progressEvery)
}

// text describes the state of the start-up, where it is watched.
func (p *progress) text() string {
	start := p.job.tree.HowFar()
	nodes := len(p.job.plan.Hosts)
	if p.job.tree.Up() {
		nodes = start.Nodes
	}
	return progressLine(start, nodes, p.job.plan.Size, p.job.hostName)
}

// progressLine renders the state of a start-up.
func progressLine(p overlay.Progress, nodes, ranks int, name func(job.HostIndex) string) string {
	text := fmt.Sprintf("%d of %s up, %d of %s", p.Nodes, plural(nodes, "node"), p.Ranks, plural(ranks, "rank"))
	if p.Host != job.NoHost {
		text += fmt.Sprintf("; waiting for %s (%d s", name(p.Host), p.Age/time.Second)
		if p.Age >= stallsAfter && p.Step != "" {
			text += ": " + string(p.Step)
		}
		text += ")"
	}
	return text
}

// statusLine is one line of a terminal that is overwritten, and erased before
// anything else is written there. It may be used from several goroutines; a nil
// one is never drawn.
type statusLine struct {
	to    *os.File
	mu    sync.Mutex
	shown bool
	ended bool
}

// newStatusLine returns the line of w, or nil where w is no terminal that can
// erase.
func newStatusLine(w io.Writer) *statusLine {
	f, ok := w.(*os.File)
	if term := os.Getenv("TERM"); !ok || term == "" || term == "dumb" || !unix.IsTerminal(f) {
		return nil
	}
	return &statusLine{to: f}
}

const (
	eraseLine = "\r\x1b[K"
	wideLine  = 79 // of a terminal that does not tell its width
)

// draw shows text, cut to the width of the terminal, unless the terminal is
// stopped or belongs to another job.
func (s *statusLine) draw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || !unix.Foreground(s.to) || !unix.Writable(s.to) {
		return
	}
	line := []rune(printable("golaunch: " + strings.ReplaceAll(text, "\n", " ")))
	width := unix.Columns(s.to) - 1 // the last column may begin a new line
	if width <= 0 {
		width = wideLine
	}
	_, _ = io.WriteString(s.to, eraseLine+string(line[:min(len(line), width)])) // nobody needs to see it
	s.shown = true
}

// erase makes room for other output.
func (s *statusLine) erase() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		s.shown = false
		_, _ = io.WriteString(s.to, eraseLine)
	}
}

// end erases the line for good.
func (s *statusLine) end() {
	if s == nil {
		return
	}
	s.erase()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

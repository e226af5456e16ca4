package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// Defaults of AssemblerConfig.
const (
	DefaultLineMax   = 1 << 20
	DefaultMemMax    = 64 << 20
	DefaultShowAfter = 100 * time.Millisecond
)

// AssemblerConfig configures an Assembler. The zero value of every field but Out is
// usable.
type AssemblerConfig struct {
	// Out receives the lines; required.
	Out Output
	// Ranks is the number of ranks that write, 0 for unknown; SetRanks changes it. The
	// output of a single unlabelled rank is passed on byte for byte, at once.
	Ranks int
	// Label puts "[RANK] " before every line; RANK is as in job.RankID.
	Label bool
	// LabelText, if not nil, appends another label; at is the time of the line's first
	// byte, as AddAt has it.
	LabelText func(b []byte, r job.RankID, at time.Time) []byte
	// LineMax is the longest line, in bytes without its newline, that is held
	// in memory until it is whole; a longer one spills. 0: DefaultLineMax.
	LineMax int
	// MemMax bounds the bytes of unfinished lines held in memory over all
	// ranks; beyond it the longest of them spills. 0: DefaultMemMax.
	MemMax int
	// ShowAfter is the time that an unfinished line of rank 0, or of the only rank that
	// writes, rests before it is shown. 0: DefaultShowAfter; negative: lines are never
	// shown before they end.
	ShowAfter time.Duration
}

// Output receives an Assembler's lines. It is called only from within the Assembler's
// methods.
type Output interface {
	// Write takes bytes that came from stream s of some ranks: whole lines,
	// but for lines beyond LineMax, which come in consecutive pieces, and
	// unfinished lines that are shown or ended without a newline. p is valid
	// during the call only.
	Write(s Stream, p []byte) error
	// NewSpill makes room outside memory for one line beyond LineMax.
	NewSpill() (Spill, error)
	// LineCut reports a line of which bytes are lost, because they could not
	// be spilled or not be read back.
	LineCut(LineCut)
}

// Spill holds the bytes of one long line: written in order, then read back
// once from the start, then closed. A temporary *os.File that was unlinked
// serves.
type Spill interface {
	io.ReadWriteSeeker
	io.Closer
}

// LineCut describes a line that lost its tail.
type LineCut struct {
	Rank   job.RankID
	Stream Stream
	Kept   int64 // bytes of the line that were printed
	Err    error // why the rest was not
}

// key identifies one rank's stream.
type key struct {
	rank   job.RankID
	stream Stream
}

// openState is the state of the destination's last line.
type openState uint8

const (
	closed openState = iota // nothing written yet, or the last byte was a newline
	owned                   // an unfinished line is shown; its rest may follow
	orphan                  // the last line ended, with its stream, without a newline
)

// Assembler merges the output of many ranks into whole lines on one
// destination (a terminal, a pipe or a file; stdout and stderr share one
// Assembler where they end in the same place). Lines of different ranks never
// mix, lines of one rank's stream keep their order, and no rank waits for
// another's newline.
//
// An unfinished line that rests for ShowAfter is shown if it is rank 0's, or if
// no other rank has written and not yet ended its output. While nothing else is written its rest follows as it comes,
// without a second label. If other output comes first, the shown line is
// broken: a newline is put in, and the rest becomes a line of its own (with
// its own label); a rest that is a lone newline is then dropped.
//
// A stream's last line may lack its newline. With labels one is added; without
// it is printed as it is, and the newline is put in only if more output
// follows. So a world of one rank, or one in which only one rank writes, comes
// out byte for byte.
//
// Memory: only unfinished lines, at most MemMax plus one chunk.
type Assembler struct {
	cfg     AssemblerConfig
	pending map[key]*source
	held    int // bytes in the pending sources' buffers
	// writers holds, by rank, a bit for each stream that has written here and
	// not ended.
	writers map[job.RankID]uint8

	open       openState
	owner      key    // of an owned line
	openStream Stream // stream of a newline that breaks the open line

	at      time.Time // when the bytes that are added have come
	scratch []byte    // labelled lines on their way out
	free    []*source
}

// NewAssembler returns an Assembler for one destination. It fails if c has no
// Out or a negative bound.
func NewAssembler(c AssemblerConfig) (*Assembler, error) {
	if c.Out == nil {
		return nil, errors.New("stdio: assembler has no output")
	}
	if c.LineMax < 0 || c.MemMax < 0 || c.Ranks < 0 {
		return nil, errors.New("stdio: assembler has a negative bound")
	}
	if c.LineMax == 0 {
		c.LineMax = DefaultLineMax
	}
	if c.MemMax == 0 {
		c.MemMax = DefaultMemMax
	}
	if c.ShowAfter == 0 {
		c.ShowAfter = DefaultShowAfter
	}
	if c.LabelText == nil {
		c.LabelText = appendLabel
	}
	return &Assembler{cfg: c, pending: map[key]*source{}, writers: map[job.RankID]uint8{}}, nil
}

// SetRanks says that n ranks write from now on, 0 for unknown.
func (a *Assembler) SetRanks(n int) { a.cfg.Ranks = n }

// Add takes the next bytes of a rank's stream, which arrived at now. data may
// be reused once it returns. An error is Output.Write's, or says that r or st
// is none; the bytes it concerned are gone, and the Assembler stays usable.
func (a *Assembler) Add(now time.Time, r job.RankID, st Stream, data []byte) error {
	return a.AddAt(now, now, r, st, data)
}

// AddAt is Add of bytes that came at another time, by which labels go.
func (a *Assembler) AddAt(now, at time.Time, r job.RankID, st Stream, data []byte) error {
	a.at = at
	if r.World < 0 || r.Rank < 0 || st != Stdout && st != Stderr {
		return fmt.Errorf("stdio: no such output: rank %v, %v", r, st)
	}
	if len(data) == 0 {
		return nil
	}
	if a.cfg.Ranks == 1 && !a.cfg.Label {
		a.open = closed
		if data[len(data)-1] != '\n' {
			a.open, a.openStream = orphan, st // should others write one day
		}
		return a.cfg.Out.Write(st, data)
	}
	a.writers[r] |= 1 << st
	k := key{r, st}
	if a.open == owned && a.owner == k {
		rest, err := a.follow(k, data)
		if err != nil || len(rest) == 0 {
			return err
		}
		data = rest
	}
	var err error
	if end := bytes.LastIndexByte(data, '\n') + 1; end > 0 {
		err = a.lines(k, data[:end])
		data = data[end:]
	}
	if len(data) > 0 {
		err = errors.Join(err, a.hold(now, k, data))
	}
	return err
}

// follow writes the rest of k's shown line and returns the rest of data.
func (a *Assembler) follow(k key, data []byte) ([]byte, error) {
	end := bytes.IndexByte(data, '\n') + 1
	if end == 0 {
		return nil, a.cfg.Out.Write(k.stream, data)
	}
	if !a.cfg.Label {
		end = bytes.LastIndexByte(data, '\n') + 1
	}
	a.open = closed
	return data[end:], a.cfg.Out.Write(k.stream, data[:end])
}

// lines writes data, which ends with a newline, after what k has pending.
func (a *Assembler) lines(k key, data []byte) error {
	s := a.pending[k]
	if s != nil {
		first := bytes.IndexByte(data, '\n') + 1
		err := a.finish(s, data[:first])
		data = data[first:]
		if err != nil || len(data) == 0 {
			return err
		}
	}
	if err := a.breakLine(); err != nil {
		return err
	}
	if !a.cfg.Label {
		return a.cfg.Out.Write(k.stream, data)
	}
	return a.labelled(k, data)
}

// labelled writes whole lines, each with its label, in few writes.
func (a *Assembler) labelled(k key, data []byte) error {
	const flushAt = 64 << 10
	buf := a.scratch[:0]
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n') + 1
		buf = a.cfg.LabelText(buf, k.rank, a.at)
		buf = append(buf, data[:end]...)
		data = data[end:]
		if len(buf) >= flushAt || len(data) == 0 {
			if err := a.cfg.Out.Write(k.stream, buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	if cap(buf) <= 2*flushAt {
		a.scratch = buf
	}
	return nil
}

// finish completes s's line with tail, which ends with the line's newline, or
// is empty where the stream ended without one, and forgets s.
func (a *Assembler) finish(s *source, tail []byte) error {
	defer a.release(s)
	switch {
	case s.cut:
		return nil // the rest of a cut line is dropped, newline included
	case s.size() == 0 && len(tail) <= 1:
		return nil // the break already ended this line
	case s.size() == 0:
		s.at = a.at
	}
	return a.emit(s, tail)
}

// emit writes s's line so far, with label and tail, as a new line.
func (a *Assembler) emit(s *source, tail []byte) error {
	if err := a.breakLine(); err != nil {
		return err
	}
	if s.spill == nil {
		// One write for the whole line. hold keeps the buffer short, so the
		// copies are cheap.
		if a.cfg.Label {
			a.scratch = append(a.cfg.LabelText(a.scratch[:0], s.rank, s.at), s.buf...)
			a.scratch = append(a.scratch, tail...)
			return a.cfg.Out.Write(s.stream, a.scratch)
		}
		a.held += len(tail)
		s.buf = append(s.buf, tail...)
		return a.cfg.Out.Write(s.stream, s.buf)
	}
	if a.cfg.Label {
		a.scratch = a.cfg.LabelText(a.scratch[:0], s.rank, s.at)
		if err := a.cfg.Out.Write(s.stream, a.scratch); err != nil {
			return err
		}
	}
	if err := a.unspill(s); err != nil {
		return err
	}
	if s.cut {
		tail = newline // the rest has no place after the gap
	}
	s.buf = append(s.buf, tail...)
	a.held += len(tail)
	if len(s.buf) == 0 {
		return nil
	}
	return a.cfg.Out.Write(s.stream, s.buf)
}

// breakLine ends the open line, if there is one, so that another can begin.
func (a *Assembler) breakLine() error {
	if a.open == closed {
		return nil
	}
	if a.open == owned {
		a.source(a.owner).broken = true
	}
	a.open = closed
	return a.cfg.Out.Write(a.openStream, newline)
}

var newline = []byte{'\n'}

package stdio

import (
	"cmp"
	"io"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

const (
	spillBlock   = 64 << 10 // unit in which long lines are written out and read back
	keepFree     = 64       // idle sources kept for reuse
	keepCapacity = 64 << 10 // largest buffer that an idle source keeps
)

// source is a rank's stream that is in the middle of a line.
type source struct {
	key
	buf     []byte
	spill   Spill     // nil until the line outgrows memory; holds what precedes buf
	spilled int64     // bytes in spill
	at      time.Time // when the first byte came, of what was not shown
	last    time.Time
	broken  bool // the line's start was shown and broken off
	cut     bool // the line was printed short; its rest is dropped
}

// size returns the length of the line so far, without the shown part.
func (s *source) size() int64 { return s.spilled + int64(len(s.buf)) }

// source returns k's pending source, a new one if there is none.
func (a *Assembler) source(k key) *source {
	s := a.pending[k]
	if s == nil {
		if n := len(a.free); n > 0 {
			s, a.free = a.free[n-1], a.free[:n-1]
		} else {
			s = new(source)
		}
		*s = source{key: k, buf: s.buf[:0]}
		a.pending[k] = s
	}
	return s
}

// release forgets a source and its lines.
func (a *Assembler) release(s *source) {
	a.held -= len(s.buf)
	delete(a.pending, s.key)
	if s.spill != nil {
		s.spill.Close() // nothing in it is needed any more
		s.spill = nil
	}
	if cap(s.buf) <= keepCapacity && len(a.free) < keepFree {
		a.free = append(a.free, s)
	}
}

// hold keeps the start of a line until its newline comes, in memory or, if it
// is too long, in a spill.
func (a *Assembler) hold(now time.Time, k key, data []byte) error {
	s := a.source(k)
	s.last = now
	if s.cut {
		return nil
	}
	if s.size() == 0 {
		s.at = a.at
	}
	s.buf = append(s.buf, data...)
	a.held += len(data)
	limit := a.cfg.LineMax
	if s.spill != nil {
		limit = min(limit, spillBlock)
	}
	if len(s.buf) > limit {
		return a.spillOut(s)
	}
	if a.held > a.cfg.MemMax {
		return a.spillOut(a.longest())
	}
	return nil
}

// longest returns the pending source with the most bytes in memory. It is at
// least the average long, so looking for it is rare.
func (a *Assembler) longest() *source {
	var longest *source
	for _, s := range a.pending {
		if longest == nil || len(s.buf) > len(longest.buf) ||
			len(s.buf) == len(longest.buf) && s.before(longest.key) {
			longest = s
		}
	}
	return longest
}

// before orders keys, to make choices independent of map order.
func (k key) before(o key) bool {
	return cmp.Or(k.rank.Compare(o.rank), cmp.Compare(k.stream, o.stream)) < 0
}

// spillOut moves s's buffer to its spill, or cuts the line if that fails.
func (a *Assembler) spillOut(s *source) error {
	if s.spill == nil {
		sp, err := a.cfg.Out.NewSpill()
		if err != nil {
			return a.cutLine(s, err)
		}
		s.spill = sp
	}
	n, err := s.spill.Write(s.buf)
	if err == nil && n < len(s.buf) {
		err = io.ErrShortWrite
	}
	s.spilled += int64(n)
	a.held -= n
	s.buf = append(s.buf[:0], s.buf[n:]...)
	if err != nil {
		return a.cutLine(s, err)
	}
	if cap(s.buf) > 2*spillBlock {
		s.buf = nil
	}
	return nil
}

// cutLine prints the kept part of s's line as a line of its own; later parts are
// dropped.
func (a *Assembler) cutLine(s *source, cause error) error {
	k, kept := s.key, s.size()
	err := a.emit(s, newline)
	reported := s.cut
	a.release(s)
	a.source(k).cut = true
	if reported {
		return err
	}
	a.cfg.Out.LineCut(LineCut{Rank: k.rank, Stream: k.stream, Kept: kept, Err: cause})
	return err
}

// unspill writes the spilled part of a line out. If it cannot be read back the
// line is cut there, and the bytes still in memory are dropped.
func (a *Assembler) unspill(s *source) error {
	_, err := s.spill.Seek(0, io.SeekStart)
	var block [spillBlock]byte
	for left := s.spilled; left > 0; {
		p := block[:min(left, spillBlock)]
		if err == nil {
			_, err = io.ReadFull(s.spill, p)
		}
		if err != nil {
			a.cfg.Out.LineCut(LineCut{Rank: s.rank, Stream: s.stream, Kept: s.spilled - left, Err: err})
			a.held -= len(s.buf)
			s.buf, s.cut = s.buf[:0], true
			return nil //nolint:nilerr // LineCut has reported it
		}
		if werr := a.cfg.Out.Write(s.stream, p); werr != nil {
			return werr
		}
		left -= int64(len(p))
	}
	return nil
}

// appendLabel appends "[RANK] ".
func appendLabel(b []byte, r job.RankID, _ time.Time) []byte {
	b = append(b, '[')
	b = r.AppendTo(b)
	return append(b, "] "...)
}

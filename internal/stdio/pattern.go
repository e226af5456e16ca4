package stdio

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// partKind is the meaning of a part of a Pattern.
type partKind uint8

const (
	literal partKind = iota
	rankPart
	hostPart
	jobPart
	timePart
)

// TimeFormat is the layout of the time in a label: RFC 3339, to the millisecond, in the
// reader's zone.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

type part struct {
	kind  partKind
	text  string // of a literal
	width int    // of a rank: least number of digits
}

// Pattern is a file name with escapes, as given to --out and --err, or a label:
//
//	%r   the rank, as in job.RankID; %0Nr (N from 1 to 9) with at least N digits
//	%h   the name of the rank's host
//	%j   the job's identifier
//	%t   of a label: the time of the line (TimeFormat)
//	%%   a percent sign
//
// The zero Pattern stands for no file.
type Pattern struct {
	text  string
	parts []part
}

// ParsePattern reads the pattern of a file. The error names the escape that is wrong and
// its place, counted in bytes from 1.
func ParsePattern(s string) (Pattern, error) {
	if s == "" {
		return Pattern{}, fmt.Errorf("output pattern is empty: give a file name")
	}
	return parsePattern("output pattern", s, "%r, %0Nr, %h, %j and %%", false)
}

// ParseLabel reads the pattern of a label, as ParsePattern does that of a file.
func ParseLabel(s string) (Pattern, error) {
	return parsePattern("label", s, "%r, %0Nr, %h, %j, %t and %%", true)
}

func parsePattern(what, s, known string, timed bool) (Pattern, error) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return Pattern{}, fmt.Errorf("%s %q: zero byte at position %d", what, s, i+1)
	}
	p := Pattern{text: s}
	rest := s
	for rest != "" {
		at := strings.IndexByte(rest, '%')
		if at < 0 {
			p.literal(rest)
			break
		}
		p.literal(rest[:at])
		rest = rest[at:]
		n := p.escape(rest, timed)
		if n == 0 {
			return Pattern{}, fmt.Errorf("%s %q: bad escape %q at position %d: known are %s",
				what, s, badEscape(rest), len(s)-len(rest)+1, known)
		}
		rest = rest[n:]
	}
	return p, nil
}

// escape adds the escape that s begins with and returns its length, 0 if it is
// none; timed allows that of the time.
func (p *Pattern) escape(s string, timed bool) int {
	switch {
	case len(s) < 2:
		return 0
	case s[1] == '%':
		p.literal("%")
	case s[1] == 'r':
		p.parts = append(p.parts, part{kind: rankPart})
	case s[1] == 'h':
		p.parts = append(p.parts, part{kind: hostPart})
	case s[1] == 'j':
		p.parts = append(p.parts, part{kind: jobPart})
	case s[1] == 't' && timed:
		p.parts = append(p.parts, part{kind: timePart})
	case len(s) >= 4 && s[1] == '0' && s[2] >= '1' && s[2] <= '9' && s[3] == 'r':
		p.parts = append(p.parts, part{kind: rankPart, width: int(s[2] - '0')})
		return 4
	default:
		return 0
	}
	return 2
}

// badEscape cuts the faulty escape out of s for the message: the percent sign and the
// bytes behind it up to and including the first byte that is not a digit.
func badEscape(s string) string {
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return s[:i+1]
		}
	}
	return s
}

func (p *Pattern) literal(s string) {
	if n := len(p.parts); n > 0 && p.parts[n-1].kind == literal {
		p.parts[n-1].text += s
	} else if s != "" {
		p.parts = append(p.parts, part{kind: literal, text: s})
	}
}

// Given says whether there is a pattern at all.
func (p Pattern) Given() bool { return p.text != "" }

// String returns the pattern as it was given.
func (p Pattern) String() string { return p.text }

// PerRank says whether every rank has a file of its own. Ranks that share a
// file need an Assembler in front of it.
func (p Pattern) PerRank() bool { return p.has(rankPart) }

// PerHost says whether ranks on different hosts have different files.
func (p Pattern) PerHost() bool { return p.has(hostPart) }

// Timed says whether a label has the time.
func (p Pattern) Timed() bool { return p.has(timePart) }

func (p Pattern) has(k partKind) bool {
	for _, x := range p.parts {
		if x.kind == k {
			return true
		}
	}
	return false
}

// Dir returns the directory of the files as far as it is the same for all:
// up to the last separator before the first escape, "" if there is none.
func (p Pattern) Dir() string {
	if len(p.parts) == 0 || p.parts[0].kind != literal {
		return ""
	}
	dir, _ := filepath.Split(p.parts[0].text)
	return dir
}

// Expand returns the file name for a rank on a host. A path separator in host
// or jobID becomes an underscore, so that neither chooses the directory.
func (p Pattern) Expand(r job.RankID, host, jobID string) string {
	return p.Label(r, host, jobID, time.Time{})
}

// Label returns the label of a line of a rank that came at a time.
func (p Pattern) Label(r job.RankID, host, jobID string, at time.Time) string {
	var b strings.Builder
	for _, x := range p.parts {
		switch x.kind {
		case literal:
			b.WriteString(x.text)
		case rankPart:
			if r.World > 0 {
				b.WriteString(strconv.Itoa(r.World) + ".")
			}
			digits := strconv.Itoa(int(r.Rank))
			for i := len(digits); i < x.width; i++ {
				b.WriteByte('0')
			}
			b.WriteString(digits)
		case hostPart:
			b.WriteString(fileWord(host))
		case jobPart:
			b.WriteString(fileWord(jobID))
		case timePart:
			b.WriteString(at.Local().Format(TimeFormat))
		}
	}
	return b.String()
}

func fileWord(s string) string {
	return strings.ReplaceAll(s, string(filepath.Separator), "_")
}

// PatternSet holds the patterns of both output streams; either may be absent.
type PatternSet struct {
	Out, Err Pattern
}

// ParsePatterns reads the arguments of --out and --err, "" where not given.
// The error names the flag.
func ParsePatterns(out, err string) (PatternSet, error) {
	var set PatternSet
	for _, x := range []struct {
		flag, text string
		to         *Pattern
	}{{"--out", out, &set.Out}, {"--err", err, &set.Err}} {
		if x.text == "" {
			continue
		}
		p, perr := ParsePattern(x.text)
		if perr != nil {
			return PatternSet{}, fmt.Errorf("%s: %w", x.flag, perr)
		}
		*x.to = p
	}
	return set, nil
}

// For returns the pattern of one stream, the zero Pattern if it has none.
func (s PatternSet) For(st Stream) Pattern {
	switch st {
	case Stdout:
		return s.Out
	case Stderr:
		return s.Err
	}
	return Pattern{}
}

// Joined says that both streams of a rank go to one file, which is then opened
// once and, where ranks share it, has one Assembler.
func (s PatternSet) Joined() bool {
	return s.Out.Given() && s.Err.Given() && filepath.Clean(s.Out.text) == filepath.Clean(s.Err.text)
}

// PerRank says whether the stream has a file for each rank.
func (s PatternSet) PerRank(st Stream) bool { return s.For(st).PerRank() }

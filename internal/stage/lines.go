package stage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Limits on the output of a host's shell around the script, in bytes: a longer line is
// cut, more in all is an error.
const (
	maxLine  = 64 << 10
	maxNoise = 1 << 20
)

// Limits on the script's own output: a few lines for each candidate, with the output of
// a command there about it.
const (
	maxSaid   = 16       // lines
	maxReason = 16 << 10 // bytes of one
)

// errNoise ends a conversation with a shell that prints without end.
var errNoise = errors.New("the login shell prints more than 1 MiB of its own")

// errWordy ends a conversation with another program than the script.
var errWordy = fmt.Errorf("the script says more than it has to: at most %d lines of %d bytes", maxSaid, maxReason)

// lineReader finds the lines that begin with the magic; a prompt or the like
// may stand before it. The rest is noise.
type lineReader struct {
	r     *bufio.Reader
	magic string
	noise func(string)

	begun bool   // a line with the magic was seen
	said  int    // lines with the magic
	total int    // bytes of noise
	last  string // the last noise that was not blank
}

// next returns the text behind the magic on the next line that has it.
func (l *lineReader) next() (string, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			// The end may be the beginning of the magic.
			if cut := len(line) - len(l.magic); len(line) > maxLine && !bytes.Contains(line, []byte(l.magic)) {
				l.pass(line[:cut])
				line = append([]byte(nil), line[cut:]...)
			}
			if len(line) > 2*maxLine || l.total > maxNoise {
				return "", errNoise
			}
			continue
		}
		before, after, found := bytes.Cut(line, []byte(l.magic))
		if found && err == nil {
			if len(before) > 0 {
				l.pass(before)
			}
			l.begun = true
			if l.said++; l.said > maxSaid || len(after) > maxReason {
				return "", errWordy
			}
			return strings.TrimSpace(string(after)), nil
		}
		if len(line) > 0 {
			l.pass(line)
		}
		if err != nil {
			return "", err
		}
		if l.total > maxNoise {
			return "", errNoise
		}
		line = line[:0]
	}
}

// pass hands on noise.
func (l *lineReader) pass(b []byte) {
	l.total += len(b)
	s := strings.TrimRight(string(b), "\r\n")
	if strings.TrimSpace(s) != "" {
		l.last = s
		if len(s) > 200 {
			l.last = s[:200] + "..."
		}
	}
	if l.noise != nil {
		l.noise(s)
	}
}

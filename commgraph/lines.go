package commgraph

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxLine bounds a line of a file, in bytes: that of a rank with peers by the
// million fits.
const maxLine = 1 << 26

// maxShown bounds what an error repeats of a line, in bytes.
const maxShown = 40

// lines reads a file line by line, for errors that say where.
type lines struct {
	name string
	*bufio.Scanner
	line int
}

func newLines(r io.Reader, name string) *lines {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	return &lines{name, s, 0}
}

// next goes to the next line; false at the end and on errors, which end tells.
func (l *lines) next() bool {
	if !l.Scan() {
		return false
	}
	l.line++
	return true
}

// end is why next stopped, nil at the end of the file.
func (l *lines) end() error {
	switch err := l.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s:%d: line of more than %d bytes", l.name, l.line+1, maxLine)
	case err != nil:
		return fmt.Errorf("%s:%d: %w", l.name, l.line+1, err)
	}
	return nil
}

// errorf is an error about a line.
func (l *lines) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", l.name, l.line, fmt.Errorf(format, args...))
}

// number reads a whole number of 0 to most; what says what it is, for errors.
func (l *lines) number(word, what string, most int64) (int64, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, l.errorf("%s: expected %s, 0 to %d", shown(word), what, most)
	}
	return n, nil
}

// amount reads a weight, which other programs write as 4, 4.0 or 4e3.
func (l *lines) amount(word string) (int64, error) {
	if n, err := strconv.ParseInt(word, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	x, err := strconv.ParseFloat(word, 64)
	if err != nil || !(x >= 0 && x <= 1<<53) || x != float64(int64(x)) {
		return 0, l.errorf("%s: expected a weight, a whole number from 0 on", shown(word))
	}
	return int64(x), nil
}

// shown quotes text, cut if it is long.
func shown(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return strconv.Quote(text)
}

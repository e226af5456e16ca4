// Package lines reads text files line by line for parsers: lines have numbers, and
// errors have the line, the text found and the text expected. The package is pure.
package lines

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// MaxLine bounds a line of a Reader that New has made, in bytes.
const MaxLine = 1 << 20

// maxShown bounds the bytes of a line that an error repeats.
const maxShown = 80

// Reader reads lines of a file.
type Reader struct {
	name    string
	scanner *bufio.Scanner
	most    int
	line    int
	text    string
}

// New reads from r; errors call the file name.
func New(r io.Reader, name string) *Reader { return NewLong(r, name, MaxLine) }

// NewLong is New with lines of at most so many bytes.
func NewLong(r io.Reader, name string, most int) *Reader {
	s := bufio.NewScanner(r)
	s.Buffer(nil, most)
	return &Reader{name: name, scanner: s, most: most}
}

// Next goes to the next line; false at the end and on errors, which Err tells.
func (r *Reader) Next() bool {
	if !r.scanner.Scan() {
		return false
	}
	r.line++
	r.text = strings.TrimSuffix(r.scanner.Text(), "\r")
	return true
}

// Text returns the line without its end.
func (r *Reader) Text() string { return r.text }

// Line returns its number, from 1.
func (r *Reader) Line() int { return r.line }

// Err returns the error that stopped Next, nil at the end of the file.
func (r *Reader) Err() error {
	err := r.scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: line of more than %d bytes", r.name, r.line+1, r.most)
	}
	if err != nil {
		return fmt.Errorf("%s:%d: %w", r.name, r.line+1, err)
	}
	return nil
}

// Errorf is an error about the line.
func (r *Reader) Errorf(format string, args ...any) error { return r.At(r.line, format, args...) }

// At is an error about another line; 0 is the file as a whole.
func (r *Reader) At(line int, format string, args ...any) error {
	where := r.name
	if line > 0 {
		where += ":" + strconv.Itoa(line)
	}
	return fmt.Errorf("%s: %w", where, fmt.Errorf(format, args...))
}

// Expected returns an error that shows the text found and the text expected.
func (r *Reader) Expected(text, what string) error {
	return r.Errorf("%s: expected %s", Show(text), what)
}

// Number reads a whole number of 0 to most; errors call it what.
func (r *Reader) Number(word, what string, most int64) (int64, error) {
	n, err := strconv.ParseUint(word, 10, 63)
	if err != nil || int64(n) > most {
		return 0, r.Expected(word, fmt.Sprintf("%s, 0 to %d", what, most))
	}
	return int64(n), nil
}

// Show quotes text, cut if it is long.
func Show(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return strconv.Quote(text)
}

// Package files reads the files that a command line names.
package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// patience is the time that a file may take to be read until a line names it.
const patience = 3 * time.Second

// Read hands the contents of a file to read, of standard input where it is called "-".
// The error begins with name. A long wait is told on w.
func Read(w io.Writer, name string, read func(io.Reader) error) error {
	return readAfter(patience, w, name, read)
}

// readAfter is Read with another patience.
func readAfter(after time.Duration, w io.Writer, name string, read func(io.Reader) error) error {
	timer := time.AfterFunc(after, func() { fmt.Fprintf(w, "golaunch: still reading %s\n", text(name)) })
	defer timer.Stop()
	if name == "-" {
		return read(os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, Reason(err))
	}
	defer f.Close()
	return read(f)
}

// text names a file, with a remedy if a wait alone does not help.
func text(name string) string {
	if name == "-" {
		return "standard input"
	}
	if info, err := os.Stat(name); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return name + ", a named pipe, into which something has to write"
	}
	return name
}

// Reason returns the cause of a file error without the file's name.
func Reason(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

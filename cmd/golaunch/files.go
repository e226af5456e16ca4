package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// readPatience is how long a file may take to be read until a line says which it is.
const readPatience = 3 * time.Second

// withFile hands the contents of a file to read, of standard input where it is called
// "-". The error begins with name. What takes long is told on w.
func withFile(w io.Writer, name string, read func(io.Reader) error) error {
	return withFileAfter(readPatience, w, name, read)
}

// withFileAfter is withFile with another patience.
func withFileAfter(patience time.Duration, w io.Writer, name string, read func(io.Reader) error) error {
	timer := time.AfterFunc(patience, func() { fmt.Fprintf(w, "golaunch: still reading %s\n", fileText(name)) })
	defer timer.Stop()
	if name == "-" {
		return read(os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, reason(err))
	}
	defer f.Close()
	return read(f)
}

// fileText names a file, and says what has to happen where that is more than to wait.
func fileText(name string) string {
	if name == "-" {
		return "standard input"
	}
	if info, err := os.Stat(name); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return name + ", a named pipe, into which something has to write"
	}
	return name
}

// reason is the cause of a file error without the file's name.
func reason(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

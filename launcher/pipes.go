package launcher

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// pipeAfter is the time for the reader of a named pipe to come before the user is told
// of the wait.
const pipeAfter = 3 * time.Second

// standardOutput is the path of a report or trace that goes to golaunch's own.
const standardOutput = "-"

// isPipe reports whether path is a named pipe: to open it for writing waits for its
// reader, which takes a close for the end. An error says why path cannot be written.
// Golaunch has made the last made directories above.
func isPipe(path string, made int) (bool, error) {
	info, err := unix.StatOutput(path, made)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return info.Mode()&os.ModeNamedPipe != 0, nil
}

// openPipe opens a named pipe for writing. A wait that is long is told.
func openPipe(flag, path string, made int, report *reporter) (*os.File, error) {
	told := time.AfterFunc(pipeAfter, func() {
		report.Say("%s: %s is a named pipe that nobody reads: waiting for its reader", flag, path)
	})
	defer told.Stop()
	return unix.OpenOutput(path, made, os.O_WRONLY, 0)
}

// replaceFile is writeFile for files that nobody may see half written: a new file takes
// the place of the old one, if their directory allows that.
func (acc *account) replaceFile(flag, path string, mode os.FileMode, write func(io.Writer) error) error {
	info, err := os.Lstat(path)
	if path == standardOutput || err != nil || !info.Mode().IsRegular() {
		return acc.writeFile(flag, path, mode, write)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return acc.writeFile(flag, path, mode, write)
	}
	err = errors.Join(write(f), f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// writeFile writes to the file of a flag, or to standard output, at the end, when the
// ranks' output is written. If that is a pipe, a signal that ends the job ends the wait
// for its reader.
func (acc *account) writeFile(flag, path string, mode os.FileMode, write func(io.Writer) error) error {
	whole := func(f *os.File, err error) error {
		if err != nil {
			return err
		}
		err = write(f)
		return errors.Join(err, f.Close())
	}
	if path != standardOutput {
		if pipe, err := isPipe(path, 0); err != nil {
			return err
		} else if !pipe {
			return whole(unix.OpenOutput(path, 0, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode))
		}
	}
	done := make(chan error, 1)
	go func() { // ends with its reader, or with golaunch
		if path == standardOutput {
			done <- write(acc.stdout)
			return
		}
		done <- whole(openPipe(flag, path, 0, acc.job.report))
	}()
	ended := acc.job.tree.Context().Done()
	for {
		select {
		case err := <-done:
			return err
		case s := <-acc.job.signals.caught:
			if s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP {
				acc.job.decided = true // nor is there a further attempt
				return fmt.Errorf("%s: %v while its reader was waited for", path, s)
			}
		case <-ended:
			return fmt.Errorf("%s: ended while its reader was waited for", path)
		}
	}
}

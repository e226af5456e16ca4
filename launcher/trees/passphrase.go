package trees

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// mostPassphrase bounds a passphrase, in bytes.
const mostPassphrase = 1 << 10

// Errors of passphrases.
var (
	errNoTerminal = errors.New("there is no terminal to ask for the passphrase at")
	errLate       = errors.New("passphrases are asked for before the job is launched")
	// ErrInterrupted is the error of a question that somebody ended, as by Ctrl-C.
	ErrInterrupted = job.Exit(job.ExitINT, "interrupted at the question for a passphrase")
)

// Passphrases asks for those of private keys, at the terminal that controls the session
// and nowhere else. It keeps them in memory, for agents that are started later.
type Passphrases struct {
	open  func() (*os.File, error)
	known map[string][]byte // by the name of the file that they unlock
	late  bool              // nobody is asked any more
}

// NewPassphrases returns one that knows none.
func NewPassphrases() *Passphrases {
	return &Passphrases{known: map[string][]byte{}, open: func() (*os.File, error) {
		if !unix.OwnsTerminal() {
			return nil, errNoTerminal
		}
		return os.OpenFile("/dev/tty", os.O_RDWR, 0)
	}}
}

// get returns the passphrase of a file. The one that it returned before was wrong if
// again is set.
func (p *Passphrases) get(ctx context.Context, file string, again bool) ([]byte, error) {
	if word, ok := p.known[file]; ok && !again {
		return word, nil
	}
	switch {
	case p.late:
		return nil, errLate
	case ctx.Err() != nil: // at the question before, as by Ctrl-C
		return nil, context.Cause(ctx)
	}
	tty, err := p.open()
	if err != nil {
		return nil, errNoTerminal
	}
	defer tty.Close()
	if again {
		fmt.Fprintf(tty, "golaunch: that is not its passphrase\n")
	}
	word, err := readSilently(ctx, tty, fmt.Sprintf("golaunch: passphrase for %s: ", file))
	if err == nil {
		p.known[file] = word
	}
	return word, err
}

// atQuestion are the signals that a question heeds: those that keys make, and that end
// or stop golaunch.
var atQuestion = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTERM, syscall.SIGHUP}

// readSilently reads a line from a terminal that does not show it. The terminal is as
// before when it returns, and while a signal acts: Ctrl-Z stops golaunch, and when it
// goes on it asks again; SIGTERM and SIGHUP end it.
func readSilently(ctx context.Context, tty *os.File, prompt string) ([]byte, error) {
	for {
		word, came, err := askOnce(ctx, tty, prompt)
		switch came {
		case nil:
			return word, err
		case syscall.SIGINT, syscall.SIGQUIT:
			return nil, ErrInterrupted
		case syscall.SIGTSTP:
			came = syscall.SIGSTOP // Go's runtime keeps the other, once it was caught
		}
		unix.Raise(came.(syscall.Signal))
	}
}

// askOnce asks once, unless a signal comes.
func askOnce(ctx context.Context, tty *os.File, prompt string) (word []byte, came os.Signal, err error) {
	caught := make(chan os.Signal, len(atQuestion))
	signal.Notify(caught, slices.DeleteFunc(slices.Clone(atQuestion), signal.Ignored)...)
	defer signal.Stop(caught)
	restore, err := unix.Hush(tty)
	if err != nil {
		return nil, nil, errNoTerminal
	}
	answered := false
	defer func() {
		_, _ = io.WriteString(tty, "\n") // a terminal that is gone needs none
		restore(!answered)               // a part of a passphrase is not the shell's
	}()
	if _, err := io.WriteString(tty, prompt); err != nil {
		return nil, nil, err
	}
	var readErr error
	read := make(chan struct{})
	go func() { // ends with the line, or by the deadline
		defer close(read)
		var line []byte
		line, readErr = bufio.NewReader(io.LimitReader(tty, mostPassphrase+1)).ReadBytes('\n')
		word = bytes.TrimSuffix(line, []byte("\n"))
		if len(word) > mostPassphrase {
			readErr = fmt.Errorf("a passphrase of more than %d bytes", mostPassphrase)
		}
	}()
	select {
	case <-read:
		answered = readErr == nil
		return word, nil, readErr
	case came = <-caught:
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = tty.SetReadDeadline(time.Unix(1, 0))
	<-read
	_ = tty.SetReadDeadline(time.Time{})
	return nil, came, err
}

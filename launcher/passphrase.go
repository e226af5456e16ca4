package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// mostPassphrase bounds a passphrase, in bytes.
const mostPassphrase = 1 << 10

// Errors of passphrases.
var (
	errNoTerminal  = errors.New("there is no terminal to ask for the passphrase at")
	errLate        = errors.New("passphrases are asked for before the job is launched")
	errInterrupted = errors.New("interrupted at the question for a passphrase")
)

// passphrases asks for those of private keys, at the terminal that controls the session
// and nowhere else. It keeps them in memory, for agents that are started later.
type passphrases struct {
	open  func() (*os.File, error)
	known map[string][]byte // by the name of what they unlock
	late  bool              // nobody is asked any more
}

func newPassphrases() *passphrases {
	return &passphrases{known: map[string][]byte{}, open: func() (*os.File, error) {
		if !unix.OwnsTerminal() {
			return nil, errNoTerminal
		}
		return os.OpenFile("/dev/tty", os.O_RDWR, 0)
	}}
}

// get is the passphrase of a file. The one that it told before was wrong if again is set.
func (p *passphrases) get(ctx context.Context, file string, again bool) ([]byte, error) {
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

// Keys that end, or change, what readSilently reads.
const (
	keyInterrupt = 'C' & 0x1f
	keyEnd       = 'D' & 0x1f
	keyKill      = 'U' & 0x1f
	keyQuit      = '\\' & 0x1f
	keyDelete    = 0x7f
)

// readSilently reads a line from a terminal that does not show it, nor makes signals of
// keys, which could leave it so. The terminal is as before when it returns: at the end
// of the line, at Ctrl-C or when ctx ends.
func readSilently(ctx context.Context, tty *os.File, prompt string) (word []byte, err error) {
	restore, err := unix.Raw(tty)
	if err != nil {
		return nil, errNoTerminal
	}
	defer restore()
	if _, err := io.WriteString(tty, prompt); err != nil {
		return nil, err
	}
	defer func() { _, _ = io.WriteString(tty, "\r\n") }() // a terminal that is gone needs none
	stop := context.AfterFunc(ctx, func() { _ = tty.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for one := make([]byte, 1); len(word) < mostPassphrase; {
		if _, err := tty.Read(one); err != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		switch c := one[0]; c {
		case '\r', '\n':
			return word, nil
		case keyInterrupt, keyQuit:
			return nil, errInterrupted
		case keyEnd:
			return nil, io.EOF
		case '\b', keyDelete:
			word = word[:max(0, len(word)-1)]
		case keyKill:
			word = word[:0]
		default:
			word = append(word, c)
		}
	}
	return nil, fmt.Errorf("a passphrase of more than %d bytes", mostPassphrase)
}

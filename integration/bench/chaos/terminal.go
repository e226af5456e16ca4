package chaos

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/golaunch/golaunch/internal/unix"
)

// seat is the terminal that a job with --pty is called at. A nil one is none.
type seat struct {
	tty    *os.File
	before string // its modes

	mu   sync.Mutex
	user *os.File // the user's end; nil when that is gone
}

// sit makes the terminal of a job.
func (d drawn) sit() (*seat, error) {
	if !d.has("--pty") {
		return nil, nil
	}
	user, tty, err := unix.OpenPTY()
	if err != nil {
		return nil, err
	}
	s := &seat{user: user, tty: tty}
	if s.before, err = s.modes(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *seat) modes() (string, error) {
	cmd := exec.Command("stty", "-g")
	cmd.Stdin = s.tty
	modes, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("modes of the terminal: %w", err)
	}
	return string(modes), nil
}

// terminal returns golaunch's end.
func (s *seat) terminal() *os.File {
	if s == nil {
		return nil
	}
	return s.tty
}

// types has the user type keys.
func (s *seat) types(keys string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user == nil {
		return io.ErrClosedPipe
	}
	_, err := io.WriteString(s.user, keys)
	return err
}

// hangUp ends the terminal, as a window that is closed.
func (s *seat) hangUp() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user == nil {
		return io.ErrClosedPipe
	}
	err := s.user.Close()
	s.user = nil
	return err
}

// changed tells the difference to its modes before, of a terminal that is still there.
func (s *seat) changed() string {
	if s == nil || s.types("") != nil {
		return ""
	}
	now, err := s.modes()
	switch {
	case err != nil:
		return err.Error()
	case now != s.before:
		return fmt.Sprintf("the terminal has modes %q, and had %q", now, s.before)
	}
	return ""
}

func (s *seat) close() {
	if s != nil {
		_ = s.hangUp() // it may be gone
		s.tty.Close()
	}
}

package unix

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Window is the size of a terminal in characters.
type Window struct {
	Rows    uint16 `cbor:"1,keyasint"`
	Columns uint16 `cbor:"2,keyasint"`
}

// PTY makes a pseudo-terminal of two descriptors: bytes written to master are typed at
// the terminal, and output of a program there is read from it. Neither becomes the
// terminal of this process. Both block, and are closed in programs started from here.
func PTY() (master, terminal int, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	if master, err = unix.Open("/dev/ptmx", flags, 0); err == nil {
		if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err == nil {
			terminal, err = openPeer(master, flags)
		}
		if err != nil {
			Close(master)
		}
	}
	if err != nil {
		return -1, -1, fmt.Errorf("no pseudo-terminal: %w", err)
	}
	return master, terminal, nil
}

// peerName returns the file of a master's terminal.
func peerName(master int) (string, error) {
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	return fmt.Sprintf("/dev/pts/%d", number), err
}

// openPeer opens the terminal of a master.
func openPeer(master, flags int) (int, error) {
	name, err := peerName(master)
	if err != nil {
		return -1, err
	}
	return unix.Open(name, flags, 0)
}

// OpenPTY is PTY for files, with deadlines.
func OpenPTY() (master, terminal *os.File, err error) {
	m, t, err := PTY()
	if err != nil {
		return nil, nil, err
	}
	name, err := peerName(m)
	if err = errors.Join(err, SetNonblock(m), SetNonblock(t)); err != nil {
		Close(m)
		Close(t)
		return nil, nil, fmt.Errorf("no pseudo-terminal: %w", err)
	}
	return os.NewFile(uintptr(m), "/dev/ptmx"), os.NewFile(uintptr(t), name), nil
}

// SetWindow sets the size of a terminal, by either end. Its foreground processes get
// SIGWINCH if it is another than before.
func SetWindow(fd int, w Window) error {
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: w.Rows, Col: w.Columns})
}

// WindowOf returns the size of the terminal f; zero where f is none, or does not know.
func WindowOf(f *os.File) (w Window) {
	_ = onDescriptor(f, func(fd int) error { // without a size it is zero
		size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil {
			w = Window{Rows: size.Row, Columns: size.Col}
		}
		return err
	})
	return w
}

// TypeEnd types, at the master of a pseudo-terminal, the character that is the end of
// input there (Ctrl-D), once all that was typed before was read: a program that changes
// the terminal's modes first, as shells do, would take it for another. While something
// is unread, it does nothing.
func TypeEnd(master int) error {
	peer, err := openPeer(master, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer Close(peer)
	unread, err := unix.Poll([]unix.PollFd{{Fd: int32(peer), Events: unix.POLLIN}}, 0)
	if err != nil || unread > 0 {
		return err
	}
	modes, err := unix.IoctlGetTermios(peer, unix.TCGETS)
	if err == nil {
		_, err = Write(master, modes.Cc[unix.VEOF:][:1])
	}
	return err
}

// onDescriptor calls do with the descriptor of a file, which stays as it is.
func onDescriptor(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// Raw has a terminal hand on every byte as it is typed, without echo, and none of them
// as a signal. restore puts its modes back; it may be called more than once.
func Raw(terminal *os.File) (restore func(), err error) {
	before, err := change(terminal, makeRaw)
	return func() { putBack(terminal, unix.TCSETS, before) }, err
}

// makeRaw changes modes to those of a terminal that changes no byte either way.
func makeRaw(m *unix.Termios) {
	m.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	m.Oflag &^= unix.OPOST
	m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	m.Cflag = m.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
}

// RawPTY is PTY with a terminal that is raw (Raw) and has that size.
func RawPTY(size Window) (master, terminal int, err error) {
	if master, terminal, err = PTY(); err != nil {
		return -1, -1, err
	}
	modes, err := unix.IoctlGetTermios(terminal, unix.TCGETS)
	if err == nil {
		makeRaw(modes)
		err = unix.IoctlSetTermios(terminal, unix.TCSETS, modes)
	}
	if err = errors.Join(err, SetWindow(master, size)); err != nil {
		Close(master)
		Close(terminal)
		return -1, -1, fmt.Errorf("no raw pseudo-terminal: %w", err)
	}
	return master, terminal, nil
}

// Hush has a terminal hide typed characters, and otherwise behave as under a shell:
// hand on lines, and make signals of keys. restore puts its modes back; discard drops
// typed characters that nobody has read.
func Hush(terminal *os.File) (restore func(discard bool), err error) {
	before, err := change(terminal, func(m *unix.Termios) {
		m.Iflag |= unix.ICRNL
		m.Lflag |= unix.ICANON | unix.ISIG
		m.Lflag &^= unix.ECHO | unix.ECHONL
	})
	return func(discard bool) {
		how := uint(unix.TCSETS)
		if discard {
			how = unix.TCSETSF
		}
		putBack(terminal, how, before)
	}, err
}

// change changes the modes of a terminal, and returns the former ones.
func change(terminal *os.File, to func(*unix.Termios)) (before *unix.Termios, err error) {
	err = onDescriptor(terminal, func(fd int) (err error) {
		if before, err = unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			return err
		}
		after := *before
		to(&after)
		return unix.IoctlSetTermios(fd, unix.TCSETS, &after)
	})
	if err != nil {
		return nil, fmt.Errorf("%s is no terminal: %w", terminal.Name(), err)
	}
	return before, nil
}

func putBack(terminal *os.File, how uint, before *unix.Termios) {
	_ = onDescriptor(terminal, func(fd int) error { return unix.IoctlSetTermios(fd, how, before) }) // a terminal that is gone needs none
}

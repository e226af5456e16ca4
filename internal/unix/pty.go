package unix

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPTY makes a pseudo-terminal: what is written to master is typed at the terminal,
// and read from it is what a program there prints. Neither becomes the terminal of this
// process.
func OpenPTY() (master, terminal *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("no pseudo-terminal: %w", err)
	}
	number := 0
	err = onDescriptor(master, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	})
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("no pseudo-terminal: %w", err)
	}
	return master, terminal, nil
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

// Raw has a terminal hand on every byte as it is typed, without echo, and none of them as
// a signal. restore puts it back to what it was; it may be called more than once.
func Raw(terminal *os.File) (restore func(), err error) {
	var before *unix.Termios
	err = onDescriptor(terminal, func(fd int) (err error) {
		if before, err = unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			return err
		}
		raw := *before
		raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		raw.Oflag &^= unix.OPOST
		raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
		raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
		return unix.IoctlSetTermios(fd, unix.TCSETS, &raw)
	})
	if err != nil {
		return nil, fmt.Errorf("%s is no terminal: %w", terminal.Name(), err)
	}
	return func() {
		_ = onDescriptor(terminal, func(fd int) error { return unix.IoctlSetTermios(fd, unix.TCSETS, before) }) // a terminal that is gone needs none
	}, nil
}

package unix

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// OpenAnswer opens for writing the pipe that another process of this user has as a
// descriptor, by the number of its inode: the process may have closed it, and opened
// something else. It never waits.
func OpenAnswer(pid, fd int, inode uint64) (int, error) {
	path := fmt.Sprintf("/proc/%d/fd/%d", pid, fd)
	pipe, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) // opening what is no pipe may do something
	if err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	defer Close(pipe)
	var st unix.Stat_t
	if err := unix.Fstat(pipe, &st); err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFIFO || st.Ino != inode {
		return -1, fmt.Errorf("%s is not the pipe %d", path, inode)
	}
	opened, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pipe), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	return opened, nil
}

package serve

import "github.com/golaunch/golaunch/internal/unix"

// ByNow calls read, which takes up to size bytes from a socket and reports whether
// there may be more, until it has had what is there by now, and its end if that is
// next. Who goes on talking is not waited for: that may be for ever.
func ByNow(fd, size int, read func() (more bool)) {
	left, err := unix.Unread(fd)
	if err != nil {
		return
	}
	for reads := left/size + 2; reads > 0 && read(); reads-- {
	}
}

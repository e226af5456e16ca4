package unix

import "golang.org/x/sys/unix"

// pipeSize is what GrowPipe asks for, in bytes: as much as Linux gives anybody.
const pipeSize = 1 << 20

// GrowPipe has a pipe hold more, so that those at its ends wake each other less often
// where much passes. Where the kernel gives no more, or fd is no pipe, it stays as it is.
func GrowPipe(fd int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize) }

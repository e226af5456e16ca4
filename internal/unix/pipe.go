package unix

import "golang.org/x/sys/unix"

// pipeSize is the size that GrowPipe asks for, in bytes: a quarter of Linux's bound for
// a process's pipe, since all pipes of a user share an allowance (pipe(7): 16,384
// pages).
const pipeSize = 256 << 10

// GrowPipe has a pipe hold more, so that those at its ends wake each other less often
// where much passes. Where the kernel gives no more, or fd is no pipe, it stays as it is.
func GrowPipe(fd int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize) }

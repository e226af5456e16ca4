// Package unix wraps the Linux system calls that golaunch needs and that
// packages os and net do not offer: readiness polling over thousands of
// descriptors, descriptors sent over sockets, resource limits, and the process
// attributes of a node launch agent.
//
// Model: plain descriptors (int), no hidden goroutine and no finalizer. The creator or
// receiver of a descriptor owns it and closes it. Every descriptor made here is
// close-on-exec. Calls interrupted by a signal are repeated. Errors are returned with
// the call's name and wrap the syscall.Errno, so errors.Is works with syscall.EAGAIN
// and the like.
//
// Not here: any policy (which descriptors, which limits, whom to kill); packages
// internal/proc and internal/agent have it. No other package but integration's cluster
// imports golang.org/x/sys/unix.
package unix

// Package unix wraps the Linux system calls that golaunch needs and that
// packages os and net do not offer: readiness polling over thousands of
// descriptors, descriptors sent over sockets, resource limits, and the process
// attributes of a node launch agent.
//
// Model: plain descriptors (int), no hidden goroutine and no finalizer. Who
// creates or receives a descriptor owns it and closes it. Every descriptor made
// here is close-on-exec. Calls interrupted by a signal are repeated. Errors are
// returned with the call's name and wrap the syscall.Errno, so errors.Is works
// with syscall.EAGAIN and the like.
//
// What is NOT here: any policy (which descriptors, which limits, whom to kill);
// that is package proc and package agent. No other package but integration's
// cluster imports golang.org/x/sys/unix.
package unix

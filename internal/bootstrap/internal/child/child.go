// Package child is a command that runs on this machine with pipes as its standard input
// and output: the bootstraps fork and exec hand it out as their pipe. They decide when
// to kill it, and interpret its end.
package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

const (
	// stderrWait bounds the wait, once the command has exited, for the rest of its
	// standard error; a descendant may hold it open for ever.
	stderrWait = 200 * time.Millisecond
	// statusWait bounds the wait, once its output has ended, for the command's status:
	// stderrWait may be part of it, and a busy machine takes time to end a process.
	statusWait = time.Second
)

// Child is a running command. One goroutine at a time reads, one writes.
type Child struct {
	// Cmd is for its process and, once Exited is closed, its state.
	Cmd *exec.Cmd
	// Exited is closed once the command was waited for.
	Exited <-chan struct{}

	in, out *os.File
	tail    bootstrap.Tail
	ended   atomic.Bool // Read has seen the end of output
}

// Start runs words with this process's environment and working directory, in a
// session of its own, so that a terminal's Ctrl-C does not reach it. A
// goroutine that reapers counts waits for it, and calls reaped, if not nil, at
// once after that. The error is the system's, or exec's.
func Start(words []string, reapers *sync.WaitGroup, reaped func(*Child)) (*Child, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()
	exited := make(chan struct{})
	c := &Child{Cmd: exec.Command(words[0], words[1:]...), Exited: exited, in: in, out: out}
	c.Cmd.Stdin, c.Cmd.Stdout, c.Cmd.Stderr = childIn, childOut, &c.tail
	c.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Cmd.WaitDelay = stderrWait
	if err := c.Cmd.Start(); err != nil {
		c.CloseFiles()
		return nil, err
	}
	reapers.Go(func() { // ends with the process, so that it never stays a zombie
		_ = c.Cmd.Wait() // Cmd.ProcessState tells how it ended
		if reaped != nil {
			reaped(c)
		}
		close(exited)
	})
	return c, nil
}

// NeverWorks says that an error of Start will come again: the program is not
// there, or may not be executed.
func NeverWorks(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, exec.ErrNotFound)
}

// Read reads the command's output.
func (c *Child) Read(b []byte) (int, error) {
	n, err := c.out.Read(b)
	if errors.Is(err, io.EOF) {
		c.ended.Store(true)
	}
	return n, err
}

// Write writes to the command's input.
func (c *Child) Write(b []byte) (int, error) { return c.in.Write(b) }

// CloseFiles ends the command's input and output.
func (c *Child) CloseFiles() {
	c.in.Close()
	c.out.Close()
}

// Continue has the command run if it was stopped: it would not see its end.
func (c *Child) Continue() { _ = c.Cmd.Process.Signal(syscall.SIGCONT) } // it has ended already

// CloseOutput ends Read.
func (c *Child) CloseOutput() { c.out.Close() }

// Await waits up to d for the command's end and reports whether it has come.
func (c *Child) Await(d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-c.Exited:
		return true
	case <-wait.C:
		return false
	}
}

// AwaitStatus waits a moment for the command's status and the end of its
// standard error, and reports whether they are there.
func (c *Child) AwaitStatus() bool { return c.Await(statusWait) }

// Diagnostics implements bootstrap.Pipe.
func (c *Child) Diagnostics() string {
	if c.ended.Load() {
		c.AwaitStatus()
	}
	return c.tail.String()
}

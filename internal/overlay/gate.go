package overlay

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/tree/pacing"
)

// gatePermits returns the number of hosts that all relays together connect to at a
// time. The connections start on their one machine, so its processors set the bound.
func gatePermits() int { return max(pacing.WindowBegin, 4*runtime.NumCPU()) }

// Gate is the window of all relays of a job: a pipe with one byte in it for
// each free permit. The launcher makes it, and relays, which are processes of
// the same user on the same machine, open it by the name it has in /proc.
type Gate struct {
	f     *os.File
	other *os.File // the launcher's end for writing, which keeps the pipe alive
}

// NewGate makes a gate with all permits free.
func NewGate() (*Gate, error) {
	r, w, err := os.Pipe()
	if err == nil {
		_, err = w.Write(make([]byte, gatePermits()))
	}
	return &Gate{f: r, other: w}, err
}

// Name returns the path for openGate, valid until g is closed.
func (g *Gate) Name() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), g.f.Fd()) }

// Close lets go of the gate.
func (g *Gate) Close() {
	g.f.Close()
	if g.other != nil {
		g.other.Close()
	}
}

// openGate opens a gate until ctx is done.
func openGate(ctx context.Context, name string) (*Gate, error) {
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("the relays' common window: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	return &Gate{f: f}, nil
}

// acquire waits for a permit; the error is that the gate's context is done.
func (g *Gate) acquire() error {
	_, err := g.f.Read(make([]byte, 1))
	return err
}

// release gives a permit back.
func (g *Gate) release() { _, _ = g.f.Write([]byte{0}) } // a pipe that has had it before has room

// enter waits for a permit in this agent's window and, where relays share a
// machine, in their gate.
func (s *Starter) enter(h HostEntry) (leave func(), err error) {
	if err := s.window.acquire(s.ctx); err != nil {
		return nil, err
	}
	if s.common.Gate == "" || h.Relay() {
		return s.window.release, nil
	}
	gate, err := s.gate()
	if err == nil {
		err = gate.acquire()
	}
	if err != nil {
		s.window.release()
		return nil, err
	}
	return func() { gate.release(); s.window.release() }, nil
}

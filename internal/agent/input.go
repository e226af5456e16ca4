package agent

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/input"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// inputArrived is the event of standard input from the parent; an empty body
// is its end.
type inputArrived struct {
	header tree.Header
	body   []byte
}

// stdinPipe is the pipe to a rank's standard input, watched by the agent's poller.
type stdinPipe struct {
	a  *Agent
	fd int
}

func (p stdinPipe) Write(b []byte) (int, error) {
	n, err := unix.Write(p.fd, b)
	if err == unix.EAGAIN {
		return 0, nil
	}
	return n, err
}

func (p stdinPipe) Unread() (int, error)  { return unix.Unread(p.fd) }
func (p stdinPipe) Resize(size int) error { return unix.SetPipeSize(p.fd, size) }
func (p stdinPipe) Await(room bool)       { p.a.poller.Modify(p.fd, uint64(p.fd), false, room) }
func (p stdinPipe) Close()                { p.a.closeFD(p.fd) }

// openReader takes a rank's pipe in, or the master of its terminal.
func (a *Agent) openReader(r *rank, fd int) {
	a.holdFD(fd, r)
	a.poller.AddWrite(fd, uint64(fd))
	p := stdinPipe{a, fd}
	p.Await(false) // there is nothing to write yet
	if a.terminalOf(r.world, r.Number) == nil {
		a.input.Open(r.Number, p)
		return
	}
	a.terminal = &terminal{stdinPipe: p, rank: r}
	a.input.Open(r.Number, a.terminal)
}

// terminalOf is the size of the terminal that a rank is to have, nil if it is to have
// none.
func (a *Agent) terminalOf(w *world, r job.Rank) *unix.Window {
	if w.id > 0 || r != 0 {
		return nil
	}
	return a.launch.Terminal
}

// openInput finds out who below reads standard input, when the launch is known.
func (a *Agent) openInput(w *world) (err error) {
	to := a.launch.StdinRank
	if a.launch.Terminal != nil && to != 0 {
		return fmt.Errorf("rank 0 has a terminal, and reader %d is to read standard input", to)
	}
	var readers []job.Rank
	for _, r := range w.ranks {
		if to == overlay.StdinAll || to == r.Number {
			readers = append(readers, r.Number)
		}
	}
	var children []tree.Slot
	for _, slot := range w.peers {
		if via, ok := a.subtree.Route(w.hostOf(to)); to == overlay.StdinAll || ok && via == slot {
			children = append(children, slot)
		}
	}
	a.input, err = input.New(readers, children, func(least, most int64) {
		a.up(link.Control, overlay.KindInputAck, overlay.Encode(overlay.InputAck{Bytes: least, Read: most}))
	})
	return err
}

// hostOf is the host of a rank, or job.NoHost.
func (w *world) hostOf(r job.Rank) job.HostIndex {
	for _, b := range w.Blocks {
		if r >= b.First && r < b.First+job.Rank(b.Count) {
			return b.Host
		}
	}
	return job.NoHost
}

// takeInput passes standard input on and gives it to local readers.
func (a *Agent) takeInput(e inputArrived) {
	if a.input == nil {
		return // the launch is still to come: the launcher sends input only after it
	}
	a.input.Receive(len(e.body))
	forward := func(slot tree.Slot) { a.subtree.Forward(slot, link.Stdio, e.header, e.body) }
	switch e.header.To {
	case tree.Everyone:
		a.input.Children(forward)
	case a.self.Index:
	default:
		if slot, ok := a.subtree.Route(e.header.To); ok {
			forward(slot)
		}
		return
	}
	a.input.Take(e.body)
}

// shutInput closes a rank's standard input. That of spawned worlds is empty.
func (a *Agent) shutInput(r *rank) {
	if a.input != nil && r.world.id == 0 {
		a.input.Shut(r.Number)
	}
	if a.terminal != nil && a.terminal.rank == r && r.Exited {
		a.terminal.release()
	}
}

// inputAck takes a subtree's acknowledgement.
func (a *Agent) inputAck(slot tree.Slot, k overlay.InputAck) error {
	if a.input == nil {
		return errors.New("input acknowledged before the launch")
	}
	return a.input.Acked(slot, k.Bytes, k.Read)
}

// dropInput stops waiting for a subtree that is lost.
func (a *Agent) dropInput(slot tree.Slot) {
	if a.input != nil {
		a.input.Drop(slot)
	}
}

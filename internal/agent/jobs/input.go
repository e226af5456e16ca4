package jobs

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/input"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// stdin is the standard input of a job's ranks.
type stdin struct {
	j        *Job
	world    *world       // whose ranks may read it; those of others find it empty
	input    *input.Input // nil if no rank of that world is here or below
	terminal *terminal    // of rank 0; nil unless it runs here, and has one
}

// stdinPipe is the pipe to a rank's standard input, watched by the agent's poller.
type stdinPipe struct {
	j  *Job
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
func (p stdinPipe) Await(room bool)       { _ = p.j.node.Change(p.fd, false, room) }
func (p stdinPipe) Close()                { p.j.node.CloseFD(p.fd) }

// open takes a rank's pipe in, or the master of its terminal.
func (si *stdin) open(r *rank, fd int) {
	si.hold(fd, r)
	p := stdinPipe{si.j, fd}
	p.Await(false) // there is nothing to write yet
	if si.terminalOf(r.world, r.Number) == nil {
		si.input.Open(r.Number, p)
		return
	}
	si.terminal = &terminal{stdinPipe: p, rank: r}
	si.input.Open(r.Number, si.terminal)
}

// terminalOf is the size of the terminal that a rank is to have, nil if it is to have
// none.
func (si *stdin) terminalOf(w *world, r job.Rank) *unix.Window {
	if w != si.world || r != 0 {
		return nil
	}
	return si.j.launch.Terminal
}

// piped reports whether a rank reads standard input from a pipe.
func (si *stdin) piped(w *world, r job.Rank) bool {
	to := si.j.launch.StdinRank
	return w == si.world && (to == overlay.StdinAll || to == r) && si.terminalOf(w, r) == nil
}

// openAll finds out who below reads standard input, when the launch is known.
func (si *stdin) openAll(w *world) (err error) {
	si.world = w
	if !w.here() {
		return nil
	}
	to := si.j.launch.StdinRank
	if si.j.launch.Terminal != nil && to != 0 {
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
		if via, ok := si.j.node.Subtree().Route(w.hostOf(to)); to == overlay.StdinAll || ok && via == slot {
			children = append(children, slot)
		}
	}
	si.input, err = input.New(readers, children, func(least, most int64) {
		si.j.node.Up(link.Control, overlay.KindInputAck, overlay.Encode(overlay.InputAck{Bytes: least, Read: most}))
	})
	return err
}

// hostOf is the host of a rank, or job.NoHost.
func (w *world) hostOf(r job.Rank) job.HostIndex {
	for _, b := range w.spec.Blocks {
		if r >= b.First && r < b.First+job.Rank(b.Count) {
			return b.Host
		}
	}
	return job.NoHost
}

// take passes standard input on and gives it to local readers.
func (si *stdin) take(h tree.Header, body []byte) {
	if si.input == nil {
		return // the launch is still to come: the launcher sends input only after it
	}
	si.input.Receive(len(body))
	forward := func(slot tree.Slot) { si.j.node.Subtree().Forward(slot, link.Stdio, h, body) }
	switch h.To {
	case tree.Everyone:
		si.input.Children(forward)
	case si.j.node.Self().Index:
	default:
		if slot, ok := si.j.node.Subtree().Route(h.To); ok {
			forward(slot)
		}
		return
	}
	si.input.Take(body)
}

// shut closes a rank's standard input. That of spawned worlds is empty.
func (si *stdin) shut(r *rank) {
	if si.input != nil && r.world == si.world {
		si.input.Shut(r.Number)
	}
	if si.terminal != nil && si.terminal.rank == r && r.Exited {
		si.terminal.release()
	}
}

// acked takes a subtree's acknowledgement.
func (si *stdin) acked(slot tree.Slot, k overlay.InputAck) error {
	if si.input == nil {
		return errors.New("input acknowledged before the launch")
	}
	return si.input.Acked(slot, k.Bytes, k.Read)
}

// drop stops waiting for a subtree that is lost.
func (si *stdin) drop(slot tree.Slot) {
	if si.input != nil {
		si.input.Drop(slot)
	}
}

// hold has a rank's standard input, which is watched for room, told to the rank's
// reader.
func (si *stdin) hold(fd int, r *rank) {
	si.j.node.WatchRoom(fd, serve.HandlerFunc(func(on unix.Ready, _ []byte) {
		if on.HangUp { // the rank closed it, or is gone
			si.shut(r)
		} else {
			si.input.Feed(r.Number)
		}
	}))
}

package agent

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// holdFD notes what a descriptor is, whose number is its tag in the agent's
// poller.
func (a *Agent) holdFD(fd int, r *rank, stdin bool) { a.watched[fd] = watched{r, stdin} }

// closeFD closes a descriptor that is held.
func (a *Agent) closeFD(fd int) {
	delete(a.watched, fd)
	a.poller.Remove(fd)
	unix.Close(fd)
}

// descriptor serves a descriptor that is ready.
func (a *Agent) descriptor(ready unix.Ready, buf []byte) {
	if ready.Tag&tagService != 0 {
		a.serviceDescriptor(ready, buf)
		return
	}
	if ready.Tag&tagPMGR != 0 {
		a.pmgrDescriptor(ready, buf)
		return
	}
	d, ok := a.watched[int(ready.Tag)]
	if !ok {
		return // closed meanwhile
	}
	r := d.rank
	if d.stdin {
		if ready.HangUp { // the rank closed it, or is gone
			a.shutInput(r)
		} else {
			a.feed(r)
		}
		return
	}
	if ready.Writable {
		a.reply(r, nil)
	}
	if ready.Readable {
		a.readPMI(r, buf)
	}
}

func (a *Agent) addPMI(r *rank, fd int) error {
	r.pmiFD = fd
	a.holdFD(fd, r, false)
	return a.poller.Add(fd, uint64(fd))
}

// readPMI takes what a rank sent over PMI and carries out what follows from
// it. It reports whether there may be more.
func (a *Agent) readPMI(r *rank, buf []byte) (more bool) {
	if r.pmiFD < 0 {
		return false
	}
	w := r.world
	n, err := unix.TryRead(r.pmiFD, buf)
	switch {
	case err == unix.EAGAIN:
		return false
	case err != nil || n == 0:
		w.pmi.EOF(r.rank, &w.pmiOut)
		a.closePMI(r)
	default:
		w.pmi.Receive(r.rank, buf[:n], &w.pmiOut)
	}
	a.pmiEffects(w)
	return n == len(buf)
}

// drainPMI reads what a rank that has ended still had to say.
func (a *Agent) drainPMI(r *rank) {
	buf := make([]byte, 4<<10)
	for a.readPMI(r, buf) {
	}
}

func (a *Agent) closePMI(r *rank) {
	if r.pmiFD >= 0 {
		a.closeFD(r.pmiFD)
		r.pmiFD = -1
	}
}

// reply writes to a rank's PMI socket and keeps what finds no room.
func (a *Agent) reply(r *rank, data []byte) {
	if r.pmiFD < 0 {
		return
	}
	waiting, held := len(r.replies) > 0, len(r.replies) >= callerBound
	if waiting {
		r.replies = append(r.replies, data...)
		data = r.replies
	}
	n, err := unix.TryWrite(r.pmiFD, data)
	switch {
	case err != nil && err != unix.EAGAIN:
		a.closePMI(r) // the rank has gone; its exit is reported by the warden
		return
	case n < len(data):
		r.replies = append(r.replies[:0], data[n:]...)
	default:
		r.replies = nil
	}
	// A rank that takes no replies is not read: it could make more and more.
	if write, hold := len(r.replies) > 0, len(r.replies) >= callerBound; write != waiting || hold != held {
		a.poller.Modify(r.pmiFD, uint64(r.pmiFD), !hold, write)
	}
}

// pmiEffects carries out what the PMI server wants done. What the bulletin
// board answers at once goes straight back, so requests may beget requests.
func (a *Agent) pmiEffects(w *world) {
	out := &w.pmiOut
	for i := 0; i < len(out.Requests); i++ {
		q := &out.Requests[i]
		switch q.Op {
		case pmi.Put:
			w.put(q)
		case pmi.Get:
			w.get(q)
		case pmi.Fence:
			if r := w.byRank[q.Rank]; !a.enterFence(r) {
				r.aborted = true
				a.fail(job.Failure{Class: job.CauseProtocol, World: w.id, Rank: r.rank, Host: a.self.Index, PID: r.pid,
					Phase: a.phase(r), Text: errFencing.Error()})
			}
		case pmi.Publish, pmi.Unpublish, pmi.Lookup:
			a.askName(w, q)
		case pmi.Group:
			if err := a.enterGroup(w, q); err != nil {
				a.worldBroken(err)
			}
		case pmi.SpawnWorld:
			a.askSpawn(w, q)
		case pmi.Map:
			w.mapBoard(q)
		}
		a.boardEffects(w)
	}
	for i := range out.Replies {
		a.reply(w.byRank[out.Replies[i].Rank], out.Replies[i].Data)
	}
	for _, x := range out.Aborts {
		r := w.byRank[x.Rank]
		r.aborted = true
		a.fail(job.Failure{Class: job.CauseAbort, World: w.id, Rank: x.Rank, Host: a.self.Index, PID: r.pid,
			Code: x.Code, Phase: a.phase(r), Text: x.Text})
	}
	for _, v := range out.Violations {
		r := w.byRank[v.Rank]
		r.aborted = true
		a.fail(job.Failure{Class: job.CauseProtocol, World: w.id, Rank: v.Rank, Host: a.self.Index, PID: r.pid,
			Phase: a.phase(r), Text: fmt.Sprintf("%v: %q", v.Err, v.Line)})
	}
	for _, n := range out.Notes {
		a.note(0, "rank %v: %s", w.byRank[n.Rank].id(), n.Text)
	}
	out.Reset()
}

var errFencing = errors.New("it enters a fence while another that it has entered, by PMI or over the tree, is not complete")

// enterFence has a rank enter its world's fence, and reports whether it may: once
// in each, by PMI or over the tree.
func (a *Agent) enterFence(r *rank) (ok bool) {
	if r.fencing {
		return false
	}
	r.fencing = true
	a.fenceEntered(r.world)
	if err := r.world.board.Enter(&r.world.boardOut); err != nil {
		a.worldBroken(err)
	}
	return true
}

// worldBroken ends the job: its key-value space can no longer be trusted.
func (a *Agent) worldBroken(err error) {
	a.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: a.self.Index, Phase: "PMI", Text: err.Error()})
}

// boardMessage hands a neighbor's message to the bulletin board.
func (a *Agent) boardMessage(w *world, from tree.Slot, msg []byte) error {
	peer := cache.Parent
	if from != tree.Up {
		peer = cache.Peer(slices.Index(w.peers, from))
	}
	if w.refused > 0 {
		return nil // what is below has begun, and is about to be ended
	}
	if w.board == nil || from != tree.Up && peer < 0 {
		return fmt.Errorf("a bulletin board message from where nothing of world %d is", w.id)
	}
	return a.boardReceives(w, peer, msg)
}

func (a *Agent) boardReceives(w *world, peer cache.Peer, msg []byte) error {
	if err := w.board.Receive(peer, msg, &w.boardOut); err != nil {
		return err
	}
	a.boardEffects(w)
	if w.pmi != nil {
		a.pmiEffects(w)
	}
	return nil
}

// boardEffects carries out what the bulletin board wants done.
func (a *Agent) boardEffects(w *world) {
	out := &w.boardOut
	for _, s := range out.Sends {
		if n, ok := s.To.Node(); ok {
			a.sendHome(w, n, s.Msg)
		} else if s.To == cache.Parent {
			a.upWorld(w, link.KVS, overlay.KindBoard, s.Msg)
		} else if slot := w.peers[s.To]; a.family.Live(slot) {
			a.family.Forward(slot, link.KVS, tree.Header{Kind: overlay.KindBoard, World: uint16(w.id), To: tree.Neighbor, From: tree.Launcher}, s.Msg)
		}
	}
	for _, x := range out.Answers {
		if x.Token&boardRequest != 0 {
			a.got(x.Token, x.Value, x.Found)
			continue
		}
		w.pmi.GetDone(job.Rank(x.Token), x.Value, x.Found, &w.pmiOut)
	}
	released := len(out.Released) > 0
	out.Reset()
	if released && w.pmi != nil {
		a.fenceReleased(w)
		for _, r := range w.ranks {
			r.fencing = false
		}
		if w.groups != nil {
			w.groups.Fenced()
		}
		w.pmi.FenceDone(&w.pmiOut)
		if w == a.first {
			a.fenced()
		}
	}
}

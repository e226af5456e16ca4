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

// Descriptors in the agent's poller are tagged with the rank's position and
// what the descriptor is.
const (
	tagPMI   = 0
	tagStdin = 1
)

func (a *Agent) tag(r *rank, what uint64) uint64 {
	return uint64(int(r.rank)-int(a.ranks[0].rank))<<1 | what
}

// descriptor serves a descriptor that is ready.
func (a *Agent) descriptor(ready unix.Ready, buf []byte) {
	r := a.byRank[a.ranks[0].rank+job.Rank(ready.Tag>>1)]
	if ready.Tag&1 == tagStdin {
		a.feed(r)
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
	return a.poller.Add(fd, a.tag(r, tagPMI))
}

// readPMI takes what a rank sent over PMI and carries out what follows from
// it. It reports whether there may be more.
func (a *Agent) readPMI(r *rank, buf []byte) (more bool) {
	if r.pmiFD < 0 {
		return false
	}
	n, err := unix.Read(r.pmiFD, buf)
	switch {
	case err == unix.EAGAIN:
		return false
	case err != nil || n == 0:
		a.pmi.EOF(r.rank, &a.pmiOut)
		a.closePMI(r)
	default:
		a.pmi.Receive(r.rank, buf[:n], &a.pmiOut)
	}
	a.pmiEffects()
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
		a.poller.Remove(r.pmiFD)
		unix.Close(r.pmiFD)
		r.pmiFD = -1
	}
}

// reply writes to a rank's PMI socket and keeps what finds no room.
func (a *Agent) reply(r *rank, data []byte) {
	if r.pmiFD < 0 {
		return
	}
	waiting := len(r.replies) > 0
	if waiting {
		r.replies = append(r.replies, data...)
		data = r.replies
	}
	n, err := unix.Write(r.pmiFD, data)
	switch {
	case err != nil && err != unix.EAGAIN:
		a.closePMI(r) // the rank has gone; its exit is reported by the warden
		return
	case n < len(data):
		r.replies = append(r.replies[:0], data[n:]...)
	default:
		r.replies = nil
	}
	if now := len(r.replies) > 0; now != waiting {
		a.poller.Modify(r.pmiFD, a.tag(r, tagPMI), true, now)
	}
}

// pmiEffects carries out what the PMI server wants done. What the bulletin
// board answers at once goes straight back, so requests may beget requests.
func (a *Agent) pmiEffects() {
	out := &a.pmiOut
	for i := 0; i < len(out.Requests); i++ {
		q := &out.Requests[i]
		switch q.Op {
		case pmi.Put:
			a.pmi.PutDone(q.Rank, a.board.Put(q.Key, q.Value, &a.boardOut), out)
		case pmi.Get:
			a.board.Get(uint64(q.Rank), q.Key, &a.boardOut)
		case pmi.Fence:
			if err := a.board.Enter(&a.boardOut); err != nil {
				a.worldBroken(err)
			}
		case pmi.Publish, pmi.Unpublish, pmi.Lookup:
			a.askName(q)
		case pmi.SpawnWorld:
			a.pmi.SpawnDone(q.Rank, pmi.SpawnResult{Err: errNoSpawn}, out)
		}
		a.boardEffects()
	}
	for i := range out.Replies {
		a.reply(a.byRank[out.Replies[i].Rank], out.Replies[i].Data)
	}
	for _, x := range out.Aborts {
		r := a.byRank[x.Rank]
		r.aborted = true
		a.fail(job.Failure{Class: job.CauseAbort, Rank: x.Rank, Host: a.self.Index, PID: r.pid,
			Code: x.Code, Phase: a.phase(r), Text: x.Text})
	}
	for _, v := range out.Violations {
		r := a.byRank[v.Rank]
		r.aborted = true
		a.fail(job.Failure{Class: job.CauseProtocol, Rank: v.Rank, Host: a.self.Index, PID: r.pid,
			Phase: a.phase(r), Text: fmt.Sprintf("%v: %q", v.Err, v.Line)})
	}
	for _, n := range out.Notes {
		a.note(0, "rank %d: %s", n.Rank, n.Text)
	}
	out.Reset()
}

// errNoSpawn is why a job has one world.
var errNoSpawn = errors.New("golaunch does not start further worlds yet")

// worldBroken ends the job: its key-value space can no longer be trusted.
func (a *Agent) worldBroken(err error) {
	a.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: a.self.Index, Phase: "PMI", Text: err.Error()})
}

// boardMessage hands a neighbor's message to the bulletin board.
func (a *Agent) boardMessage(from tree.Slot, msg []byte) error {
	if a.board == nil {
		return fmt.Errorf("a bulletin board message before the launch")
	}
	peer := cache.Parent
	if from != tree.Up {
		i := slices.Index(a.peers, from)
		if i < 0 {
			return fmt.Errorf("a bulletin board message from a child that is no part of the world")
		}
		peer = cache.Peer(i)
	}
	if err := a.board.Receive(peer, msg, &a.boardOut); err != nil {
		return err
	}
	a.boardEffects()
	a.pmiEffects()
	return nil
}

// boardEffects carries out what the bulletin board wants done.
func (a *Agent) boardEffects() {
	out := &a.boardOut
	for _, s := range out.Sends {
		if n, ok := s.To.Node(); ok {
			a.sendHome(n, s.Msg)
		} else if s.To == cache.Parent {
			a.up(link.KVS, overlay.KindBoard, s.Msg)
		} else if slot := a.peers[s.To]; a.family.Live(slot) {
			a.family.Send(slot, link.KVS, overlay.KindBoard, s.Msg)
		}
	}
	for _, w := range out.Answers {
		a.pmi.GetDone(job.Rank(w.Token), w.Value, w.Found, &a.pmiOut)
	}
	released := len(out.Released) > 0
	out.Reset()
	if released {
		a.pmi.FenceDone(&a.pmiOut)
	}
}

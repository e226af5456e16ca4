package agent

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
)

// A rank leaves the tree's service when it says so, when it ends, or when it has
// closed its socket and lives on for a while: others that wait for it then learn
// that. Its end says more than its closed socket, and is waited for, so that a
// rank that fails is the first to be reported.

// leavePatience is how long a rank that has closed its socket without a word may
// take to end.
const leavePatience = 2 * time.Second

// callerGone is the event that such a rank has had its time.
type callerGone struct{ rank job.Rank }

// drop closes a rank's socket. What is on its way to the rank is lost.
func (a *Agent) drop(c *caller) {
	delete(a.service.callers, c.rank)
	a.service.node.Detach(int(c.rank))
	a.hangUp(c)
}

func (a *Agent) hangUp(c *caller) {
	if c.fd >= 0 {
		a.poller.Remove(c.fd)
		unix.Close(c.fd)
		c.fd = -1
		a.write(c) // to nobody
	}
}

// closed notes that a rank says no more: it ends, mostly.
func (a *Agent) closed(c *caller) {
	a.hangUp(c)
	if a.first.byRank[c.rank].exited {
		return
	}
	e := callerGone{c.rank}
	time.AfterFunc(leavePatience, func() { a.inbox.Put(e) }) // an inbox takes what nobody reads any more
}

// callerLives says that a rank lives on that has closed its socket.
func (a *Agent) callerLives(e callerGone) {
	if !a.first.byRank[e.rank].exited {
		a.leaveWhenHeard(e.rank)
	}
}

// endedService has a rank leave that has ended, after all that it has said.
func (a *Agent) endedService(r *rank) {
	s := &a.service
	if r.world != a.first || s.node == nil || a.killed {
		return
	}
	if s.shared >= 0 {
		a.takeCalls(waitingCalls)
	}
	var buf []byte
	for c := s.callers[r.rank]; c != nil && c.fd >= 0; {
		if buf == nil {
			buf = make([]byte, 64<<10)
		}
		n, err := unix.TryRead(c.fd, buf)
		if err != nil { // a child of the rank may hold the socket open
			a.hangUp(c)
		} else {
			c.in = append(c.in, buf[:n]...)
		}
	}
	a.leaveWhenHeard(r.rank)
}

// leaveWhenHeard has a rank leave once its last request was taken.
func (a *Agent) leaveWhenHeard(rank job.Rank) {
	if c := a.service.callers[rank]; c != nil {
		c.leaving = true
		a.takeRequests(c)
		return
	}
	a.leave(rank)
}

// leaveIfOver has a rank leave of which nothing is left to hear.
func (a *Agent) leaveIfOver(c *caller) {
	if c.leaving {
		delete(a.service.callers, c.rank)
		a.leave(c.rank)
	}
}

// leave tells those who wait for a rank.
func (a *Agent) leave(rank job.Rank) {
	s := &a.service
	if s.left[rank] {
		return
	}
	s.left[rank] = true
	s.node.Leave(int(rank), fmt.Sprintf("rank %d on %s has left", rank, a.self.Name))
}

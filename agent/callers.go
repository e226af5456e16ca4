package agent

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/tree/record"
)

// callerBound is how many bytes may wait for a rank before its requests do, on
// either of its sockets.
const callerBound = 1 << 20

// callsAtOnce is how many calls are taken before other events are; waitingCalls
// is more than wait at a time: their socket has room for fewer.
const (
	callsAtOnce  = 64
	waitingCalls = 4 << 10
)

// takeCalls takes at most some of the sockets that ranks hand over on the shared
// descriptor, each with the hello of its rank.
func (a *Agent) takeCalls(most int) {
	for range most {
		msg, fds, err := a.service.rights.Recv(a.service.shared)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.ErrTruncated):
			a.refuseCall(err)
			continue
		case err != nil: // no rank can call any more
			a.poller.Remove(a.service.shared)
			unix.Close(a.service.shared)
			a.service.shared = -1
			return
		}
		if err := a.takeCall(msg, fds); err != nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
			a.refuseCall(err)
		}
	}
}

// refuseCall tells the user why a call was refused, but once: a rank can have it
// happen as often as it likes.
func (a *Agent) refuseCall(err error) {
	level := 0
	if a.service.told {
		level = 2
	}
	a.service.told = true
	a.note(level, "a call for the tree's service was refused: %v", err)
}

// takeCall takes one. After an error the descriptors are the caller's to close.
func (a *Agent) takeCall(msg []byte, fds []int) error {
	var hello record.Record
	raw, rest, err := record.Frame(msg)
	if err == nil && raw != nil {
		_, err = record.Parse(raw, &hello)
	}
	switch {
	case err != nil:
		return err
	case raw == nil || len(rest) > 0 || hello.Kind != record.Hello || len(fds) != 1:
		return fmt.Errorf("%d bytes with %d descriptors are no hello", len(msg), len(fds))
	}
	if err := unix.SetNonblock(fds[0]); err != nil {
		return err
	}
	rank := job.Rank(hello.Src)
	refuse := func(format string, args ...any) error {
		err := fmt.Errorf(format, args...)
		_, _ = unix.TryWrite(fds[0], record.AppendFrame(nil, &record.Record{Kind: record.Fail, Body: []byte(err.Error())}))
		return err
	}
	switch {
	case hello.Seq != record.Version:
		return refuse("rank %d speaks version %d of the protocol; this is version %d: build the program with this golaunch's library", rank, hello.Seq, record.Version)
	case a.service.node == nil || a.first.byRank[rank] == nil:
		return refuse("rank %d is not on this node", rank)
	case a.service.callers[rank] != nil || a.service.left[rank]:
		return refuse("rank %d has called already", rank)
	}
	c := &caller{rank: rank, fd: fds[0], reading: true}
	if err := a.poller.Add(c.fd, a.callerTag(c)); err != nil {
		return refuse("%v", err)
	}
	a.service.callers[rank] = c
	a.tell(c, &record.Record{Kind: record.Welcome, Src: int(rank), Size: int64(a.first.Size), Dst: int(a.node), Count: len(a.launch.Nodes)})
	return nil
}

func (a *Agent) callerTag(c *caller) uint64 {
	return tagService | uint64(int(c.rank)-int(a.first.ranks[0].rank))
}

// readCaller takes what a rank has sent.
func (a *Agent) readCaller(c *caller, buf []byte) {
	n, err := unix.TryRead(c.fd, buf)
	switch {
	case err == unix.EAGAIN:
		return
	case err != nil: // it has closed the socket, or is gone
		a.closed(c)
		return
	}
	c.in = append(c.in, buf[:n]...)
	a.takeRequests(c)
}

// takeRequests takes whole requests of a rank while there is room for them, and
// reports whether it took any.
func (a *Agent) takeRequests(c *caller) (some bool) {
	node := a.service.node
	for node.Room(int(c.rank)) && len(c.out) < callerBound && a.service.callers[c.rank] == c {
		raw, rest, err := record.Frame(c.in)
		if err == nil && raw != nil {
			c.in, some = rest, true
			err = a.request(c, raw)
		}
		if err != nil {
			a.accuse(c.rank, err)
			return true
		}
		if raw == nil {
			a.leaveIfOver(c)
			break
		}
	}
	a.watch(c)
	return some
}

// watch has the poller watch for what a rank's socket is good for now.
func (a *Agent) watch(c *caller) {
	if c.fd < 0 {
		return
	}
	reading := a.service.node.Room(int(c.rank)) && len(c.out) < callerBound
	if writing := len(c.out) > 0; reading != c.reading || writing != c.writing {
		c.reading, c.writing = reading, writing
		a.poller.Modify(c.fd, a.callerTag(c), reading, writing)
	}
}

// request handles one record of a rank.
func (a *Agent) request(c *caller, raw []byte) error {
	var r record.Record
	if _, err := record.Parse(raw, &r); err != nil {
		return err
	}
	s := &a.service
	switch r.Kind {
	case record.Bye:
		a.drop(c)
		a.leave(c.rank)
		return nil
	case record.Put:
		if r.Size < 0 || r.Size > int64(len(r.Body)) {
			return fmt.Errorf("a key of %d bytes in %d", r.Size, len(r.Body))
		}
		if err := a.first.board.Put(r.Body[:r.Size], r.Body[r.Size:], &a.first.boardOut); err != nil {
			a.tell(c, &record.Record{Kind: record.Fail, Fn: record.FailBoard, Seq: r.Seq, Body: []byte(err.Error())})
		} else {
			a.tell(c, &record.Record{Kind: record.Got, Seq: r.Seq})
		}
	case record.Get:
		s.lastGet++
		token := boardRequest | s.lastGet
		s.gets[token] = fence{c.rank, r.Seq}
		a.first.board.Get(token, r.Body, &a.first.boardOut)
	case record.Map:
		if m, err := a.first.image(); err != nil {
			a.tell(c, &record.Record{Kind: record.Fail, Fn: record.FailBoard, Seq: r.Seq, Body: []byte(err.Error())})
		} else {
			a.tell(c, &record.Record{Kind: record.Mapped, Seq: r.Seq, Off: int64(m.Epoch), Size: int64(m.Size), Body: []byte(m.Path)})
		}
	case record.Fence:
		if !a.enterFence(a.first.byRank[c.rank]) {
			return errFencing
		}
		s.fences = append(s.fences, fence{c.rank, r.Seq})
	case record.Create:
		if _, err := record.ParseRuns(r.Body, a.first.Size); err != nil {
			return fmt.Errorf("a communicator of others than ranks: %w", err)
		}
		s.node.Request(int(c.rank), raw)
		return nil
	default:
		s.node.Request(int(c.rank), raw)
		return nil
	}
	a.boardEffects(a.first)
	a.pmiEffects(a.first)
	return nil
}

// got answers a rank's Get.
func (a *Agent) got(token uint64, value string, found bool) {
	q := a.service.gets[token]
	delete(a.service.gets, token)
	r := record.Record{Kind: record.Got, Seq: q.request, Body: []byte(value)}
	if found {
		r.Count = 1
	}
	if len(value) > record.MaxBody {
		r = record.Record{Kind: record.Fail, Fn: record.FailBoard, Seq: q.request,
			Body: fmt.Appendf(nil, "the value has %d bytes; at most %d can be told", len(value), record.MaxBody)}
	}
	if c := a.service.callers[q.rank]; c != nil {
		a.tell(c, &r)
	}
}

// fenced lets the ranks go that wait for a fence.
func (a *Agent) fenced() {
	waiting := a.service.fences
	a.service.fences = nil
	for _, q := range waiting {
		if c := a.service.callers[q.rank]; c != nil {
			a.tell(c, &record.Record{Kind: record.Fence, Seq: q.request})
		}
	}
}

// tell writes an answer of the agent's own.
func (a *Agent) tell(c *caller, r *record.Record) {
	c.out = record.AppendFrame(c.out, r)
	a.write(c)
}

// write writes what a rank's socket takes, and reports whether that was
// anything.
func (a *Agent) write(c *caller) (some bool) {
	if c.fd < 0 { // nobody reads it
		n := len(c.out)
		c.out = nil
		a.service.node.Wrote(int(c.rank), n)
		return n > 0
	}
	n, err := unix.TryWrite(c.fd, c.out)
	switch {
	case err != nil && err != unix.EAGAIN:
		c.out = nil // the rank has gone; reading shows it
	case n == len(c.out):
		c.out = nil
	default:
		c.out = append(c.out[:0], c.out[max(n, 0):]...)
	}
	if n > 0 {
		a.service.node.Wrote(int(c.rank), n)
	}
	a.watch(c)
	return n > 0
}

package servetree

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/board"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/record"
)

// caller is a rank that has asked for the service.
type caller struct {
	server  *Server
	rank    job.Rank
	fd      int    // -1 once the rank has closed its end
	in      []byte // received, and not taken yet
	out     []byte // for it
	reading bool   // what the poller watches for
	writing bool
	plans   int       // schedules that it waits for
	leaving bool      // when all that it has said was taken
	heard   time.Time // when the rank has said something last
}

// welcome answers the hello of a rank.
func (s *Server) welcome(c *caller) {
	s.tell(c, &record.Record{Kind: record.Welcome, Src: int(c.rank), Size: int64(s.w.Size), Dst: int(s.w.Self), Count: len(s.w.Hosts), Fn: record.Schedules, Seq: record.Probes, Comm: record.Leavers,
		Off: record.MaxWaiting, Body: s.clusters})
}

// Ready serves the rank's socket.
func (c *caller) Ready(on unix.Ready, buf []byte) {
	s := c.server
	if s.callers[c.rank] != c {
		return
	}
	if on.Writable {
		s.write(c)
	}
	if on.Readable && c.fd >= 0 {
		s.readCaller(c, buf)
	}
}

// readCaller takes what a rank has sent. Where that ends within a long record, the rest
// is read to its place.
func (s *Server) readCaller(c *caller, buf []byte) {
	n, err := unix.TryRecv(c.fd, c.space(buf))
	switch {
	case err == unix.EAGAIN:
		return
	case err != nil: // it has closed the socket, or is gone
		s.closed(c)
		return
	}
	c.heard = time.Now()
	c.keep(buf, n)
	if n == len(buf) && cap(c.in) > len(c.in) {
		n, _ = unix.TryRecv(c.fd, c.space(buf)) // an error is there the next time, too
		c.keep(buf, n)
	}
	s.takeRequests(c)
}

// space is where to read to: behind the beginning of a record whose length is known, up
// to its end, else buf.
func (c *caller) space(buf []byte) []byte {
	if rest := c.in[len(c.in):cap(c.in)]; len(rest) > 0 {
		return rest
	}
	return buf
}

// keep takes the n bytes that were read to space(buf). Memory for a record is taken once.
func (c *caller) keep(buf []byte, n int) {
	if cap(c.in) > len(c.in) {
		c.in = c.in[:len(c.in)+n]
		return
	}
	whole := len(c.in) + n
	if begun := append(c.in, buf[:min(n, 4)]...); len(begun) >= 4 {
		whole = max(whole, 4+min(int(binary.BigEndian.Uint32(begun)), record.MaxSize))
	}
	in := make([]byte, 0, whole)
	c.in = append(append(in, c.in...), buf[:n]...)
}

// takeRequests takes whole requests of a rank while there is room for them, and
// reports whether it took any.
func (s *Server) takeRequests(c *caller) (some bool) {
	for s.node.Room(int(c.rank)) && len(c.out) < serve.CallerBound && s.callers[c.rank] == c {
		raw, rest, err := record.Frame(c.in)
		if err == nil && raw != nil {
			c.in, some = rest, true
			err = s.request(c, raw)
		}
		if err != nil {
			s.accuse(c.rank, err)
			return true
		}
		if raw == nil {
			s.leaveIfOver(c)
			break
		}
	}
	s.watch(c)
	return some
}

// watch has the poller watch for what a rank's socket is good for now.
func (s *Server) watch(c *caller) {
	if c.fd < 0 {
		return
	}
	reading := s.node.Room(int(c.rank)) && len(c.out) < serve.CallerBound
	if writing := len(c.out) > 0; reading != c.reading || writing != c.writing {
		c.reading, c.writing = reading, writing
		_ = s.w.Change(c.fd, reading, writing)
	}
}

// request handles one record of a rank.
func (s *Server) request(c *caller, raw []byte) error {
	var r record.Record
	if _, err := record.Parse(raw, &r); err != nil {
		return err
	}
	switch r.Kind {
	case record.Bye:
		s.drop(c)
		s.leave(c.rank)
		return nil
	case record.Put:
		if r.Size < 0 || r.Size > int64(len(r.Body)) {
			return fmt.Errorf("a key of %d bytes in %d", r.Size, len(r.Body))
		}
		if err := s.seat.Put(r.Body[:r.Size], r.Body[r.Size:]); err != nil {
			s.tell(c, &record.Record{Kind: record.Fail, Fn: record.FailBoard, Seq: r.Seq, Body: []byte(err.Error())})
		} else {
			s.tell(c, &record.Record{Kind: record.Got, Seq: r.Seq})
		}
	case record.Get:
		s.lastGet++
		s.gets[s.lastGet] = fence{c.rank, r.Seq}
		s.seat.Get(s.lastGet, r.Body)
	case record.Map:
		if m, err := s.seat.Image(); err != nil {
			s.tell(c, &record.Record{Kind: record.Fail, Fn: record.FailBoard, Seq: r.Seq, Body: []byte(err.Error())})
		} else {
			s.tell(c, &record.Record{Kind: record.Mapped, Seq: r.Seq, Off: int64(m.Epoch), Size: int64(m.Size), Body: []byte(m.Path)})
		}
	case record.Fence:
		if err := s.fence(c, r.Seq); err != nil {
			return err
		}
	case record.Cluster:
		return s.cluster(c, &r)
	case record.Schedule:
		return s.schedule(c, &r)
	case record.Create:
		if _, err := record.ParseRuns(r.Body, s.w.Size); err != nil {
			return fmt.Errorf("a communicator of others than ranks: %w", err)
		}
		s.node.Request(int(c.rank), raw)
		return nil
	default:
		s.node.Request(int(c.rank), raw)
		return nil
	}
	return nil
}

// fence has a rank enter a fence over the tree.
func (s *Server) fence(c *caller, request uint64) error {
	s.node.Use()
	s.fences = append(s.fences, fence{c.rank, request}) // Enter may complete it
	if s.fencesOver(collective.OverTree) == "" && !s.seat.Enter(s.w.Local(c.rank)) {
		return board.ErrFencing
	}
	return nil
}

// Got answers a rank's Get.
func (s *Server) Got(token uint64, value string, found bool) {
	q := s.gets[token]
	delete(s.gets, token)
	r := record.Record{Kind: record.Got, Seq: q.request, Body: []byte(value)}
	if found {
		r.Count = 1
	}
	if len(value) > record.MaxBody {
		r = record.Record{Kind: record.Fail, Fn: record.FailBoard, Seq: q.request,
			Body: fmt.Appendf(nil, "the value has %d bytes; at most %d can be told", len(value), record.MaxBody)}
	}
	if c := s.callers[q.rank]; c != nil {
		s.tell(c, &r)
	}
}

// Fenced lets the ranks go that wait for a fence.
func (s *Server) Fenced() {
	waiting := s.fences
	s.fences = nil
	for _, q := range waiting {
		if c := s.callers[q.rank]; c != nil {
			s.tell(c, &record.Record{Kind: record.Fence, Seq: q.request})
		}
	}
}

// tell writes an answer of the agent's own.
func (s *Server) tell(c *caller, r *record.Record) {
	c.out = record.AppendFrame(c.out, r)
	s.write(c)
}

// write writes what a rank's socket takes, and reports whether that was
// anything.
func (s *Server) write(c *caller) (some bool) {
	if c.fd < 0 { // nobody reads it
		n := len(c.out)
		c.out = nil
		s.node.Wrote(int(c.rank), n)
		return n > 0
	}
	var n int
	c.out, n, _ = serve.Send(c.fd, c.out, nil) // reading shows a rank that has gone
	if n > 0 {
		s.node.Wrote(int(c.rank), n)
	}
	s.watch(c)
	return n > 0
}

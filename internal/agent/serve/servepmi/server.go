// Package servepmi has the PMI servers of an agent: package pmi, with the sockets of
// the ranks, the bulletin board, and the rest of the job beyond it. Ranks find it on
// a descriptor that they inherit (OnDescriptor) or on a port (OnPort).
package servepmi

import (
	"errors"
	"fmt"
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/board"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// Beyond is what ranks ask for that is neither their world's nor their node's. The
// requests are valid until the call returns.
type Beyond interface {
	// Name asks about a published service; NameDone answers.
	Name(r *serve.Rank, q *pmi.Request)
	// Spawn asks for a new world; SpawnDone answers.
	Spawn(r *serve.Rank, s *pmi.Spawn)
}

// Server is what both PMI servers have in common.
type Server struct {
	serve.Idle
	w       *serve.World
	seat    board.Seat
	beyond  Beyond
	pmi     *pmi.Server
	out     pmi.Effects
	busy    bool          // Settle is under way
	failing string        // why fences fail, as the user was told
	groups  *cache.Groups // nil where barriers of groups are not granted
	conns   map[job.Rank]*conn
}

// conn is a rank's connection.
type conn struct {
	*Server
	rank    *serve.Rank
	fd      int       // -1 when closed
	kept    int       // the agent's end of the socket that the rank was started with, until the rank was reaped; -1 for none
	replies []byte    // that the socket had no room for
	retired bool      // the rank was seen to have finalised
	heard   time.Time // when the rank has said something last

	inherited bool // fd is that socket
}

// New makes the PMI server of the local ranks of w, of which there is one at least.
// It is the caller's to make it an OnDescriptor or an OnPort.
func New(w *serve.World, b *board.Board, beyond Beyond) (*Server, error) {
	s := &Server{w: w, beyond: beyond, conns: make(map[job.Rank]*conn, len(w.Ranks))}
	local := make([]job.Rank, len(w.Ranks))
	for i, r := range w.Ranks {
		local[i] = r.Number
		s.conns[r.Number] = &conn{Server: s, rank: r, fd: -1, kept: -1}
	}
	if w.Launch.PMIVersion == pmi.VersionGroups {
		s.groups = cache.NewGroups(w.Self)
		b.NoImages = errors.New("barriers of groups bring newer values than the last fence")
	}
	var err error
	s.pmi, err = pmi.NewServer(pmi.World{
		Size: w.Size, KVSName: w.KVSName, UniverseSize: w.Launch.Universe, ProcessMapping: w.Mapping, Version: w.Launch.PMIVersion,
		Spawner: w.Spawner, Preput: w.Preput,
		AppNum: func(r job.Rank) int { return s.conns[r].rank.App },
	}, local)
	s.seat = b.Join(s)
	return s, err
}

// Initialised says whether a rank has begun with PMI.
func (s *Server) Initialised(r *serve.Rank) bool { return s.pmi.Initialised(r.Number) }

// Finalised says whether a rank has done with PMI.
func (s *Server) Finalised(r *serve.Rank) bool { return s.pmi.Finalised(r.Number) }

// Phase is how far a rank has come.
func (s *Server) Phase(r *serve.Rank) string { return s.pmi.Phase(r.Number).String() }

// NameDone answers a Name: err says why the service's port is not known.
func (s *Server) NameDone(r job.Rank, port string, err error) {
	s.pmi.NameDone(r, port, err, &s.out)
	s.Settle()
}

// SpawnDone answers a Spawn.
func (s *Server) SpawnDone(r job.Rank, result pmi.SpawnResult) {
	s.pmi.SpawnDone(r, result, &s.out)
	s.Settle()
}

// Kinds are the messages about groups.
func (s *Server) Kinds() []tree.Kind { return []tree.Kind{overlay.KindGroup} }

// Hear reads what ranks have said by now.
func (s *Server) Hear(ranks ...*serve.Rank) {
	buf := make([]byte, 4<<10)
	for _, r := range ranks {
		c := s.conns[r.Number]
		serve.ByNow(c.fd, len(buf), func() bool { return c.read(buf) })
	}
}

// Judge finds a rank wrong that has begun with PMI and has not done with it.
func (s *Server) Judge(r *serve.Rank, ok bool) *job.Failure {
	if ok && s.Initialised(r) && !s.Finalised(r) {
		return &job.Failure{Class: job.CauseNoFinalize}
	}
	return nil
}

// Close closes the connections.
func (s *Server) Close() {
	for _, c := range s.conns {
		c.letGo()
	}
}

// Ended lets go of what the rank has left.
func (s *Server) Ended(r *serve.Rank) { s.conns[r.Number].letGo() }

// attach gives a rank its connection.
func (s *Server) attach(r *serve.Rank, fd int) error {
	c := s.conns[r.Number]
	c.fd = fd
	return s.w.Watch(fd, c)
}

// Ready serves the connection.
func (c *conn) Ready(on unix.Ready, buf []byte) {
	if on.Writable {
		c.reply(nil)
	}
	if on.Readable {
		c.read(buf)
	}
}

// read takes what a rank sent and carries out what follows from it. It reports
// whether there may be more.
func (c *conn) read(buf []byte) (more bool) {
	if c.fd < 0 {
		return false
	}
	n, err := unix.TryRecv(c.fd, buf)
	switch {
	case err == unix.EAGAIN:
		return false
	case err != nil || n == 0:
		c.pmi.EOF(c.rank.Number, &c.out)
		c.close()
	default:
		c.rank.Heard++
		c.heard = time.Now()
		c.pmi.Receive(c.rank.Number, buf[:n], &c.out)
	}
	c.Settle()
	if !c.retired && c.pmi.Finalised(c.rank.Number) {
		c.retired = true
		c.seat.Retire(c.rank)
	}
	return n == len(buf)
}

// close ends the conversation. The socket that the rank was started with stays open until the
// rank was reaped: it tells the warden when the rank ended (proc.Started).
func (c *conn) close() {
	switch {
	case c.fd < 0:
		return
	case c.inherited:
		c.w.Forget(c.fd)
		c.kept = c.fd
	default:
		c.w.CloseFD(c.fd)
	}
	c.fd = -1
}

// letGo ends everything with a rank that has ended.
func (c *conn) letGo() {
	c.close()
	if c.kept >= 0 {
		unix.Close(c.kept)
		c.kept = -1
	}
}

// reply writes to a rank's socket and keeps what finds no room.
func (c *conn) reply(data []byte) {
	if c.fd < 0 {
		return
	}
	waiting, held := len(c.replies) > 0, len(c.replies) >= serve.CallerBound
	var gone bool
	if c.replies, _, gone = serve.Send(c.fd, c.replies, data); gone {
		c.close() // the rank's exit is reported by the warden
		return
	}
	// A rank that takes no replies is not read: it could make more and more.
	if write, hold := len(c.replies) > 0, len(c.replies) >= serve.CallerBound; write != waiting || hold != held {
		_ = c.w.Change(c.fd, !hold, write)
	}
}

// Settle carries out what the protocol's server wants done. What the bulletin board
// answers at once goes straight back, so requests may beget requests.
func (s *Server) Settle() {
	if s.busy {
		return
	}
	s.busy = true
	out := &s.out
	for i := 0; i < len(out.Requests); i++ {
		s.request(&out.Requests[i])
	}
	for i := range out.Replies {
		s.conns[out.Replies[i].Rank].reply(out.Replies[i].Data)
	}
	for _, x := range out.Aborts {
		s.fail(x.Rank, job.Failure{Class: job.CauseAbort, Code: x.Code, Text: x.Text})
	}
	for _, v := range out.Violations {
		s.fail(v.Rank, job.Failure{Class: job.CauseProtocol, Text: fmt.Sprintf("%v: %q", v.Err, v.Line)})
	}
	for _, n := range out.Notes {
		s.w.Note(0, "rank %v: %s", s.w.RankID(s.conns[n.Rank].rank), n.Text)
	}
	out.Reset()
	s.busy = false
}

// fail reports a failure of a rank.
func (s *Server) fail(rank job.Rank, f job.Failure) {
	r := s.conns[rank].rank
	r.Aborted = true
	f.Phase = s.w.Phase(r)
	s.w.Fail(r, f)
}

// request begins what a rank asks for.
func (s *Server) request(q *pmi.Request) {
	r := s.conns[q.Rank].rank
	switch q.Op {
	case pmi.Put:
		s.put(q)
	case pmi.Get:
		s.get(q)
	case pmi.Fence:
		if s.seat.FencesOverByPMI() == "" && !s.seat.Enter(r) { // else it fails in the next Turn
			s.fail(q.Rank, job.Failure{Class: job.CauseProtocol, Text: board.ErrFencing.Error()})
		}
	case pmi.Publish, pmi.Unpublish, pmi.Lookup:
		s.beyond.Name(r, q)
	case pmi.Group:
		if err := s.enterGroup(q); err != nil {
			s.seat.Broken(err)
		}
	case pmi.SpawnWorld:
		s.beyond.Spawn(r, q.Spawn)
	case pmi.Map:
		m, err := s.seat.Image()
		s.pmi.MapDone(q.Rank, m, err, &s.out)
	default: // it would wait for ever
		text := fmt.Sprintf("no agent carries out %v, which its request takes: that is golaunch's fault", q.Op)
		s.fail(q.Rank, job.Failure{Class: job.CauseProtocol, Text: text})
		s.conns[q.Rank].letGo()
	}
}

// put puts a rank's value on the bulletin board.
func (s *Server) put(q *pmi.Request) {
	err := s.seat.Put(q.Key, q.Value)
	if err == nil && s.groups != nil {
		s.groups.Put(q.Key, q.Value)
	}
	s.pmi.PutDone(q.Rank, err, &s.out)
}

// get answers a rank's Get: by the bulletin board, unless a group has brought
// something newer.
func (s *Server) get(q *pmi.Request) {
	if s.groups != nil {
		if value, found := s.groups.Get(q.Key); found {
			s.pmi.GetDone(q.Rank, value, true, &s.out)
			return
		}
	}
	s.seat.Get(uint64(q.Rank), q.Key)
}

// Got answers a rank's Get.
func (s *Server) Got(rank uint64, value string, found bool) {
	s.pmi.GetDone(job.Rank(rank), value, found, &s.out)
}

// Fenced lets the ranks go that wait in the fence.
func (s *Server) Fenced() {
	if s.groups != nil {
		s.groups.Fenced()
	}
	s.pmi.FenceDone(&s.out)
}

// Fencing reports local ranks that wait in a fence.
func (s *Server) Fencing() bool { return s != nil && s.pmi.Fencing() }

// Turn has fences fail that cannot complete, as a rank has ended that has not entered
// them.
func (s *Server) Turn() (some bool) {
	why := s.seat.FencesOverByPMI()
	if why == "" || !s.pmi.Fencing() {
		return false
	}
	if s.failing != why {
		s.failing = why
		s.w.Note(overlay.NoteAlways, "%s: %s", why, s.fails())
	}
	for _, r := range s.w.Ranks {
		r.Told = r.Told || r.Fencing
	}
	s.pmi.FencesFail(why, &s.out)
	s.Settle()
	return true
}

// fails says what fails for local ranks.
func (s *Server) fails() string {
	for _, r := range s.w.Ranks {
		if r.Fencing && s.pmi.Phase(r.Number) == pmi.InInit {
			return "MPI_Init, which needs all ranks, fails for the others (what is no MPI program is to be started by a golaunch of its own)"
		}
	}
	return "the fence that others wait in (MPI_Finalize, or another of PMI) cannot complete, and fails for them"
}

// Enters tells whether a rank may enter fences by PMI.
func (s *Server) Enters(r *serve.Rank) bool { return s.Initialised(r) && !s.Finalised(r) }

// Retired is of no interest: PMI's fences wait for a rank that has left.
func (s *Server) Retired(*serve.Rank) {}

// Package servepmgr is the PMGR server of an agent: package pmgr, with the
// connections of the ranks, and the tree to the other nodes.
package servepmgr

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmgr"
)

// Server is PMGR for the ranks of one world on a node (--pmgr): a port of the
// loopback interface, for this user only. It stays open while they live, as whoever
// aborts makes a connection for that.
type Server struct {
	serve.Idle
	treeEnd
	w      *serve.World
	server *pmgr.Server // nil where no rank is
	out    pmgr.Effects
	door   *serve.Door   // nil before it is opened
	conns  map[int]*conn // by descriptor
	byRank map[job.Rank]*conn
	words  map[job.Rank]*pmgr.Abort // of ranks that are said to abort, by nobody knows whom
	trees  bool                     // clients build trees of their own
	most   int                      // connections that may not yet have said whose they are
}

// conn is one connection; its number is the descriptor.
type conn struct {
	server  *Server
	fd      int
	known   bool // whose it is
	closing bool // as soon as out is written
	out     []byte
	reading bool // what the poller watches for
	writing bool
	heard   time.Time // when something was read from it last
}

// New makes the server of w at this node, which uses the tree's service.
func New(w *serve.World, t *servetree.Server) *Server {
	s := &Server{w: w, conns: map[int]*conn{}, byRank: map[job.Rank]*conn{}, words: map[job.Rank]*pmgr.Abort{}, most: len(w.Ranks) + serve.MoreCallers}
	s.trees = s.clientTrees()
	s.join(t)
	return s
}

// Open listens for the local ranks.
func (s *Server) Open(ready func(error)) { ready(s.open()) }

func (s *Server) open() (err error) {
	nodes := make([][]job.Rank, len(s.w.Hosts))
	for _, b := range s.w.Blocks {
		n, _ := slices.BinarySearch(s.w.Hosts, b.Host)
		for i := range b.Count {
			nodes[n] = append(nodes[n], b.First+job.Rank(i))
		}
	}
	if s.server, err = pmgr.New(pmgr.World{Nodes: nodes, Node: int(s.w.Self), Trees: s.trees}); err != nil {
		return err
	}
	s.door, err = serve.OpenDoor(s.w, "PMGR", s.enter)
	return err
}

// Env is what ranks are told: of each its number, and env.
func (s *Server) Env(r *serve.Rank) []string {
	if r != nil {
		return []string{"MPIRUN_RANK=" + strconv.Itoa(int(r.Number))}
	}
	return s.env()
}

// env is what ranks are told, and how they are to use it: golaunch's tree is
// there, they need none of their own, nor shared memory that another launcher
// would have prepared.
func (s *Server) env() []string {
	id := fnv.New32a()
	id.Write([]byte(s.w.KVSName))
	return []string{
		"MPIRUN_HOST=" + s.door.At.Addr().String(), "MPIRUN_PORT=" + strconv.Itoa(int(s.door.At.Port())),
		"MPIRUN_NPROCS=" + strconv.Itoa(s.w.Size), "MPIRUN_ID=" + strconv.Itoa(int(id.Sum32()>>1|1)),
		"MPIRUN_MPD=0", "MPIRUN_USE_TREES=0", "MPIRUN_SHM_ENABLE=0",
	}
}

// Files are the ranks' connections, the listener, and connections that have not yet
// said whose they are.
func (s *Server) Files() (perRank, more int) { return 2, serve.DoorFiles }

// clientTrees tells whether the user wants the clients to build a tree of their
// own.
func (s *Server) clientTrees() bool {
	wanted := func(kv string) bool {
		value, ok := strings.CutPrefix(kv, "MPIRUN_USE_TREES=")
		return ok && value != "0"
	}
	return slices.ContainsFunc(s.w.Launch.Env, wanted) ||
		slices.ContainsFunc(s.w.Apps, func(app job.App) bool { return slices.ContainsFunc(app.Env, wanted) })
}

// Ready serves a connection.
func (c *conn) Ready(on unix.Ready, buf []byte) {
	s := c.server
	if s.conns[c.fd] != c {
		return
	}
	if on.Writable {
		s.write(c, nil)
	}
	if (on.Readable && c.reading || on.HangUp) && s.conns[c.fd] == c {
		s.read(c, buf)
	}
}

// enter takes a connection, of this user's if that is sure, or says why not. One that was closed
// already is read at once, and so takes no place.
func (s *Server) enter(fd int, sure bool) error {
	if left, err := unix.Unread(fd); !sure && (left == 0 || err != nil) {
		return errors.New("it was closed without a word")
	}
	unknown := 0
	for _, c := range s.conns {
		if !c.known {
			unknown++
		}
	}
	if sure && unknown >= s.most {
		return fmt.Errorf("%d others have not yet said whose they are", unknown)
	}
	c := &conn{server: s, fd: fd, reading: true}
	if err := s.w.Watch(fd, c); err != nil {
		return err
	}
	s.conns[fd] = c
	s.server.Open(pmgr.Conn(fd), sure)
	if !sure {
		buf := make([]byte, 4<<10)
		serve.ByNow(fd, len(buf), func() bool { return s.read(c, buf) })
		if s.conns[fd] == c { // what it was to be told it does not read any more
			s.server.EOF(pmgr.Conn(fd), &s.out)
			s.carry()
		}
		if s.conns[fd] == c {
			s.drop(c)
		}
	}
	return nil
}

// read takes what came over a connection, and reports whether there may be
// more.
func (s *Server) read(c *conn, buf []byte) (more bool) {
	n, err := unix.TryRecv(c.fd, buf)
	switch {
	case err == unix.EAGAIN:
		return false
	case err != nil:
		s.server.EOF(pmgr.Conn(c.fd), &s.out)
		if s.conns[c.fd] == c && !c.closing {
			s.out.Closes = append(s.out.Closes, pmgr.Conn(c.fd))
		}
	default:
		c.heard = time.Now()
		s.server.Receive(pmgr.Conn(c.fd), buf[:n], &s.out)
		if s.server.Wants(pmgr.Conn(c.fd)) { // the packet is not whole: clients write head and data
			unix.QuickAckFD(c.fd)
		}
	}
	s.carry()
	s.watch(c)
	return s.conns[c.fd] == c
}

// watch has the poller watch for what a connection is good for now.
func (s *Server) watch(c *conn) {
	if s.conns[c.fd] != c {
		return
	}
	reading := s.server.Wants(pmgr.Conn(c.fd))
	if writing := len(c.out) > 0; reading != c.reading || writing != c.writing {
		c.reading, c.writing = reading, writing
		_ = s.w.Change(c.fd, reading, writing)
	}
}

// write writes to a connection and keeps what finds no room.
func (s *Server) write(c *conn, data []byte) {
	c.out, _, _ = serve.Send(c.fd, c.out, data) // reading shows a rank that has gone
	s.watch(c)
	if c.closing && len(c.out) == 0 {
		s.drop(c)
	}
}

func (s *Server) drop(c *conn) {
	delete(s.conns, c.fd)
	s.w.CloseFD(c.fd)
}

// carry carries out what the PMGR server wants done.
func (s *Server) carry() {
	out := &s.out
	for i := range out.Requests {
		s.begin(out.Requests[i])
	}
	for _, x := range out.CheckIns {
		c := s.conns[int(x.Conn)]
		c.known, s.byRank[x.Rank] = true, c
	}
	for _, x := range out.Replies {
		if c := s.conns[int(x.Conn)]; c != nil {
			s.write(c, x.Data)
		}
	}
	for _, x := range out.Refusals {
		s.door.Refuse(x.Err)
	}
	for _, x := range out.Closes {
		if c := s.conns[int(x)]; c != nil {
			if c.closing = true; len(c.out) == 0 {
				s.drop(c)
			}
		}
	}
	for i := range out.Aborts {
		x := out.Aborts[i]
		if x.Sure {
			s.aborts(s.w.Local(x.Rank), &x)
		} else {
			s.words[x.Rank] = &x
		}
	}
	for _, v := range out.Violations {
		r := s.w.Local(v.Rank)
		r.Aborted = true
		s.w.Fail(r, job.Failure{Class: job.CauseProtocol, Phase: job.PhasePMGR, Text: v.Err.Error()})
	}
	for _, h := range out.Hangups {
		r := s.w.Local(h.Rank)
		time.AfterFunc(patience, func() { s.w.Post(func() { s.livesOn(r) }) })
	}
	if out.Resumed {
		for _, c := range s.conns {
			s.watch(c)
		}
	}
	out.Reset()
}

// Shut ends listening and hangs up. Nothing is served any more.
func (s *Server) Shut() {
	if !s.door.Open() {
		return
	}
	s.door.Close()
	for _, c := range s.conns {
		s.server.EOF(pmgr.Conn(c.fd), &s.out)
		s.drop(c)
	}
	s.out.Reset()
}

// Close ends everything.
func (s *Server) Close() { s.Shut() }

// Package servetree is the tree as ranks use it: collective operations, messages and
// the bulletin board (docs/client.md), for each world over the agents that have ranks
// of it here or below.
package servetree

import (
	"fmt"
	"strconv"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/board"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/record"
)

// Server is the tree's service of one world.
type Server struct {
	serve.Idle
	w       *serve.World
	seat    board.Seat
	door    *Door
	node    *collective.Node
	out     collective.Effects
	agent   Endpoint // nil: the agent itself takes no part
	callers map[job.Rank]*caller
	left    map[job.Rank]bool // those that use the service no more
	fences  []fence
	gets    map[uint64]fence // by the token of the bulletin board
	lastGet uint64
	plans   plans
	ended   rankEnd // of which all are about to be told
	over    bool

	clusters []byte // how many there are at each depth of the network

	// Called, if not nil, is told that a rank has begun to use the service.
	Called func()
	// Ask has the launcher asked for a schedule that a local rank wants: Scheduled is
	// called with the answer, later.
	Ask func(r *serve.Rank, want overlay.Schedule)
}

// Endpoint is this node's agent as one of the tree's endpoints.
type Endpoint interface {
	// Deliver takes what the tree has for it.
	Deliver(b []byte)
	// Fault says that it broke the protocol.
	Fault(err error)
}

// fence is a request of a rank that waits for the bulletin board.
type fence struct {
	rank    job.Rank
	request uint64
}

// New makes the service of w at this node. Ranks call at the door.
func New(w *serve.World, b *board.Board, door *Door) (*Server, error) {
	s := &Server{w: w, door: door, callers: map[job.Rank]*caller{}, left: map[job.Rank]bool{}, gets: map[uint64]fence{}}
	s.clusters = s.countClusters()
	if b != nil {
		s.seat = b.Join(s)
		b.Over = func() string { return s.fencesOver(collective.OverTree) }
		b.OverByPMI = func() string { return s.fencesOver(collective.ByPMI) }
	}
	towards := make([]collective.Direction, len(w.Hosts))
	for n, d := range w.Toward {
		towards[n] = directionOf(d, w.Refused)
	}
	var all []collective.Run
	for _, b := range w.Blocks { // in rank order, of all ranks
		all = append(all, collective.Run{Count: b.Count, Direction: towards[w.NodeOf(b.First)]})
	}
	for n := range towards {
		all = append(all, collective.Run{Count: 1, Direction: directionOf(w.Toward[n], false)}) // the agent is there without ranks, too
	}
	var err error
	s.node, err = collective.New(collective.Config{Ranks: w.Size, Directions: all, Children: w.Children, Root: w.Root,
		Node: func(rank int) int { return int(w.NodeOf(job.Rank(rank))) }})
	return s, err
}

// directionOf is a direction as the tree has it. Of a node that has refused its ranks,
// which are far more than it has room or time for, these are nowhere.
func directionOf(d serve.Direction, refused bool) collective.Direction {
	switch {
	case d == serve.Up:
		return collective.Up
	case d == serve.Here && !refused:
		return collective.Local
	case d == serve.Here, d == serve.Gone: // lost while the launch was under way, which the launcher is told
		return collective.Nowhere
	}
	return collective.Direction(d)
}

// Kinds are the records of operations and messages.
func (s *Server) Kinds() []tree.Kind { return []tree.Kind{overlay.KindRecords} }

// Env says where ranks call, and what world they are of.
func (s *Server) Env(r *serve.Rank) []string {
	if r != nil || !s.door.open() {
		return nil
	}
	env := []string{"GOLAUNCH_FD=" + strconv.Itoa(proc.SharedFD)}
	if s.w.ID > 0 {
		env = append(env, "GOLAUNCH_WORLD="+strconv.Itoa(s.w.ID))
	}
	return env
}

// Files are the sockets of ranks that use the service.
func (s *Server) Files() (perRank, more int) { return 1, 0 }

// Message takes records of a neighbor.
func (s *Server) Message(m serve.Message) error {
	s.node.Receive(collective.Direction(m.Neighbor), m.Body)
	return nil
}

// Turn carries out what the node of the tree wants done.
func (s *Server) Turn() (some bool) {
	if s.over {
		return false
	}
	s.out.Reset()
	s.node.Flush(&s.out)
	some = s.endFences()
	for _, f := range s.out.Frames {
		s.w.Send(serve.Neighbor(f.To), link.Data, overlay.KindRecords, f.Bytes) // both count children from 0, and call the parent -1
	}
	for _, d := range s.out.Deliveries {
		if d.Endpoint >= s.w.Size {
			if s.agent != nil {
				s.node.Wrote(d.Endpoint, len(d.Bytes))
				s.agent.Deliver(d.Bytes)
				some = true
			}
		} else if c := s.callers[job.Rank(d.Endpoint)]; c != nil {
			if len(c.out) == 0 {
				c.out = d.Bytes
			} else {
				c.out = append(c.out, d.Bytes...)
			}
			some = s.write(c) || some
		}
	}
	for _, f := range s.out.Faults {
		some = true
		switch {
		case f.From != collective.Local:
			s.w.Broken(serve.Neighbor(f.From), f.Err)
		case f.Endpoint >= s.w.Size:
			s.agent.Fault(f.Err)
		default:
			s.accuse(job.Rank(f.Endpoint), f.Err)
		}
	}
	for _, c := range s.callers {
		if (len(c.in) > 0 || !c.reading) && s.takeRequests(c) {
			some = true
		}
	}
	return some
}

// Join makes e the endpoint that this node's agent is.
func (s *Server) Join(e Endpoint) { s.agent = e }

// Self is the number of that endpoint.
func (s *Server) Self() int { return s.w.Size + int(s.w.Self) }

// Request makes a request for this node's agent, if there is room; else it is to be
// made in a later Turn.
func (s *Server) Request(raw []byte) (taken bool) {
	if !s.node.Room(s.Self()) {
		return false
	}
	s.node.Request(s.Self(), raw)
	return true
}

// accuse ends the job because of a rank that broke the protocol.
func (s *Server) accuse(rank job.Rank, err error) {
	r := s.w.Local(rank)
	f := job.Failure{Class: job.CauseProtocol, PID: r.PID, Phase: job.PhaseTree, Text: err.Error()}
	if c := s.callers[rank]; c != nil {
		if f.PID == 0 { // the warden's word that the rank was started is on its way
			f.PID = unix.PeerPID(c.fd)
		}
		s.drop(c)
	}
	r.Aborted = true
	s.w.Fail(r, f)
}

// Lost tells the ranks that a child is lost.
func (s *Server) Lost(child serve.Neighbor, why string) {
	s.node.Lost(collective.Direction(child), why)
}

// Close hangs up.
func (s *Server) Close() {
	s.over = true
	for _, c := range s.callers {
		s.drop(c)
	}
}

// call takes a rank's socket, which is the caller's after an error.
func (s *Server) call(hello *record.Record, fd int) error {
	rank := job.Rank(hello.Src)
	switch {
	case s.over || s.w.Local(rank) == nil:
		return fmt.Errorf("rank %d is not on this node", rank)
	case s.callers[rank] != nil || s.left[rank]:
		return fmt.Errorf("rank %d has called already", rank)
	}
	c := &caller{server: s, rank: rank, fd: fd, reading: true, heard: time.Now()}
	if err := s.w.Watch(fd, c); err != nil {
		return err
	}
	s.callers[rank] = c
	if hello.Off != record.Keeps {
		s.node.Old(int(rank))
	}
	if s.Called != nil {
		s.Called()
	}
	s.welcome(c)
	return nil
}

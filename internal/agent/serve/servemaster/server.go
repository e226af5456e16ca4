// Package servemaster tells the ranks of a world where they can meet over TCP, as
// programs of machine learning expect it: MASTER_ADDR is an address of rank 0's node,
// MASTER_PORT a port that was free there just before the ranks started. golaunch
// listens at neither: rank 0 does, if it wants to.
package servemaster

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Names of the variables, which are the user's where they are set.
const (
	addrName = "MASTER_ADDR="
	portName = "MASTER_PORT="
)

// Server is that of one world on one node. What rank 0's node says goes to all others
// of the world's tree.
type Server struct {
	serve.Idle
	w     *serve.World
	at    netip.AddrPort // not valid until it is known, or where there is none
	known bool
	ready func(error)
}

// New makes it.
func New(w *serve.World) *Server { return &Server{w: w} }

// Start has the node of rank 0 choose.
func (s *Server) Start() error {
	if s.w.Local(0) == nil {
		return nil
	}
	// Where there is no address or no port, the ranks are told of none.
	if addr, err := netip.ParseAddr(s.w.Address()); err == nil {
		if port, err := unix.FreePort(); err == nil {
			s.at = netip.AddrPortFrom(addr, port)
		}
	}
	s.learn(nobody)
	return nil
}

// nobody is no neighbor.
const nobody = serve.Parent - 1

// learn passes on what is known, but to the neighbor that it is from, and has the ranks
// start.
func (s *Server) learn(from serve.Neighbor) {
	s.known = true
	body, _ := s.at.MarshalText() // never fails
	if from != serve.Parent && !s.w.Root {
		s.w.Send(serve.Parent, link.KVS, overlay.KindMaster, body)
	}
	for child := range serve.Neighbor(s.w.Children) {
		if child != from {
			s.w.Send(child, link.KVS, overlay.KindMaster, body)
		}
	}
	if s.ready != nil {
		s.ready(nil)
	}
}

// Open is ready when the place is known.
func (s *Server) Open(ready func(error)) {
	if s.known {
		ready(nil)
		return
	}
	s.ready = ready
}

// Kinds are those of its messages.
func (s *Server) Kinds() []tree.Kind { return []tree.Kind{overlay.KindMaster} }

// Message takes what rank 0's node has said.
func (s *Server) Message(m serve.Message) error {
	// A neighbor that is not on the way to rank 0's node cannot know.
	if at := s.w.Toward[s.w.NodeOf(0)]; at != serve.Direction(m.Neighbor) {
		return fmt.Errorf("a place to meet of world %d, whose rank 0 is elsewhere", s.w.ID)
	}
	if s.known {
		return fmt.Errorf("a second place to meet of world %d", s.w.ID)
	}
	if len(m.Body) > 0 {
		if err := s.at.UnmarshalText(bytes.Clone(m.Body)); err != nil {
			return fmt.Errorf("place to meet of world %d: %w", s.w.ID, err)
		}
	}
	s.learn(m.Neighbor)
	return nil
}

// Env is what all ranks are told.
func (s *Server) Env(r *serve.Rank) (env []string) {
	if r != nil || !s.at.IsValid() {
		return nil
	}
	for _, v := range []string{addrName + s.at.Addr().String(), portName + strconv.Itoa(int(s.at.Port()))} {
		name := v[:strings.Index(v, "=")+1]
		if !slices.ContainsFunc(s.w.Launch.Env, func(own string) bool { return strings.HasPrefix(own, name) }) {
			env = append(env, v)
		}
	}
	return env
}

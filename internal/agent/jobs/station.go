package jobs

import (
	"slices"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// station is the agent as the servers of one world use it.
type station struct {
	j *Job
	w *world
}

var _ serve.Node = station{}

// Watch has h told when fd can be read.
func (s station) Watch(fd int, h serve.Handler) error { return s.j.node.Watch(fd, h) }

// Change replaces what a descriptor is watched for.
func (s station) Change(fd int, read, write bool) error {
	return s.j.node.Change(fd, read, write)
}

// CloseFD closes it.
func (s station) CloseFD(fd int) { s.j.node.CloseFD(fd) }

// Forget ends its watch.
func (s station) Forget(fd int) { s.j.node.Forget(fd) }

// Post has f called there.
func (s station) Post(f func()) { s.j.node.Post(f) }

// Send queues a message to a neighbor in the world's tree.
func (s station) Send(to serve.Neighbor, on link.Stream, kind tree.Kind, body []byte) {
	if to == serve.Parent {
		s.j.upWorld(s.w, on, kind, body)
	} else if slot := s.w.peers[to]; s.j.node.Subtree().Live(slot) {
		s.j.node.Subtree().Forward(slot, on, tree.Header{Kind: kind, Job: s.j.number, World: uint16(s.w.id), To: tree.Neighbor, From: tree.Launcher}, body)
	}
}

// SendTo queues one for any other node of the world.
func (s station) SendTo(to job.NodeID, kind tree.Kind, body []byte) {
	s.j.node.PassOn(tree.Header{Kind: kind, Job: s.j.number, World: uint16(s.w.id), To: s.w.nodes[to], From: s.j.node.Self().Index}, body)
}

// Broken cuts a neighbor off.
func (s station) Broken(by serve.Neighbor, err error) {
	slot := tree.Up
	if by != serve.Parent {
		slot = s.w.peers[by]
	}
	s.j.node.Broken(slot, err)
}

// Ending says that the world's ranks were told to end.
func (s station) Ending() bool { return s.j.end.Killed() || s.w.killed }

// Fail reports a failure of a rank, or of the world.
func (s station) Fail(r *serve.Rank, f job.Failure) {
	f.World, f.Rank, f.Host = s.w.id, -1, s.j.node.Self().Index
	if r != nil {
		f.Rank = r.Number
		if f.PID == 0 {
			f.PID = r.PID
		}
	}
	s.j.failures.fail(f)
}

// FailNode reports what the node cannot go on without.
func (s station) FailNode(phase string, err error) { s.j.failures.nodeFailed(phase, err) }

// Phase says how far a rank has come.
func (s station) Phase(r *serve.Rank) string { return s.w.phase(r) }

// Note tells the user something.
func (s station) Note(level int, format string, args ...any) { s.j.node.Note(level, format, args...) }

// HostName is this node's.
func (s station) HostName() string { return s.j.node.Self().Name }

// Address is one at which other nodes reach this one.
func (s station) Address() string { return s.j.env.address() }

// fences is the agent as the watcher of a world's fences.
type fences struct {
	j *Job
	w *world
}

// Entered notes that a local rank has entered one.
func (f fences) Entered() {
	f.j.accounts.fenceEntered(f.w)
	f.w.mpi.FenceEntered()
	f.j.stalls.begin()
}

// Released notes that it is complete.
func (f fences) Released() {
	f.j.accounts.fenceReleased(f.w)
	f.w.fences++
	if f.w.mpi != nil { // there are ranks here
		f.w.mpi.FenceReleased()
	}
}

// beyond is the agent as the way to the job's names and to new worlds.
type beyond struct {
	j *Job
	w *world
}

// Name passes a request for a published service on.
func (b beyond) Name(r *serve.Rank, q *pmi.Request) {
	b.j.services.ask(b.w, overlay.NameRequest{Host: b.j.node.Self().Index, World: b.w.id, Rank: r.Number, Op: q.Op,
		Service: slices.Clone(q.Key), Port: slices.Clone(q.Value)})
}

// Spawn passes a request for a new world on.
func (b beyond) Spawn(r *serve.Rank, s *pmi.Spawn) { b.j.spawns.ask(b.w.byRank[r.Number], s) }

package agent

import (
	"fmt"
	"os"
	"slices"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/collective"
)

// service is the tree as ranks of the first world use it: collective operations, messages and the
// bulletin board (docs/client.md). A rank asks for it over one descriptor that
// all ranks of a node share; until then it costs nothing.
type service struct {
	shared  int // the agent's end of that descriptor; -1 if there is none
	rights  *unix.Rights
	node    *collective.Node // from the launch on
	out     collective.Effects
	early   []overlay.Message // what came before the launch
	callers map[job.Rank]*caller
	left    map[job.Rank]bool // those that use the service no more
	fences  []fence
	gets    map[uint64]fence // by the token of the bulletin board
	lastGet uint64
	told    bool // that a call was refused
}

// fence is a request of a rank that waits for the bulletin board.
type fence struct {
	rank    job.Rank
	request uint64
}

// caller is a rank that has asked for the service.
type caller struct {
	rank    job.Rank
	fd      int    // -1 once the rank has closed its end
	in      []byte // received, and not taken yet
	out     []byte // for it
	reading bool   // what the poller watches for
	writing bool
	leaving bool // when all that it has said was taken
}

// Tags of the service's descriptors in the agent's poller.
const (
	tagService   = 1 << 63 // and the rank's position
	tagShared    = tagService | 1<<62
	boardRequest = 1 << 63 // in a token of the bulletin board: not from PMI
)

// newService makes the descriptor that ranks will share, and returns their end.
func (a *Agent) newService() (ranks *os.File, err error) {
	mine, its, err := unix.PacketPair()
	if err != nil {
		return nil, err
	}
	if err = unix.SetNonblock(mine); err == nil {
		err = a.poller.Add(mine, tagShared)
	}
	if err != nil {
		unix.Close(mine)
		unix.Close(its)
		return nil, err
	}
	a.service.shared, a.service.rights = mine, unix.NewRights(256)
	return os.NewFile(uintptr(its), "the tree's service"), nil
}

// openService makes the node of the tree, when the launch is known.
func (a *Agent) openService() error {
	s := &a.service
	children := 0
	where := map[job.HostIndex]collective.Hop{a.self.Index: collective.Local}
	if a.first.refused > 0 { // far more than this agent has room, or time, for
		where[a.self.Index] = collective.Nowhere
	}
	for slot := range a.family.Children {
		children = int(slot) + 1
		for _, h := range a.family.Below(slot) {
			where[h] = collective.Hop(slot)
		}
	}
	hop := func(h job.HostIndex) collective.Hop {
		if to, ok := where[h]; ok {
			return to
		}
		return collective.Up
	}
	var hops []collective.Run
	for _, b := range a.first.Blocks { // in rank order, of all ranks
		if _, found := slices.BinarySearch(a.launch.Nodes, b.Host); !found {
			return fmt.Errorf("ranks %d+%d are at host %d, which is no node of the job", b.First, b.Count, b.Host)
		}
		hops = append(hops, collective.Run{Count: b.Count, Hop: hop(b.Host)})
	}
	where[a.self.Index] = collective.Local // the agent itself is there
	for _, h := range a.launch.Nodes {
		hops = append(hops, collective.Run{Count: 1, Hop: hop(h)})
	}
	var err error
	s.node, err = collective.New(collective.Config{Ranks: a.first.Size, Hops: hops, Node: a.nodeOf, Children: children, Root: a.root})
	if err != nil {
		return err
	}
	early := s.early
	s.early = nil
	for _, m := range early {
		if err := a.records(m); err != nil {
			return err
		}
	}
	return nil
}

// nodeOf is the number of the node that a rank of the first world runs on.
func (a *Agent) nodeOf(rank int) int {
	blocks := a.first.Blocks // in rank order
	i, found := slices.BinarySearchFunc(blocks, job.Rank(rank), func(b job.Block, r job.Rank) int { return int(b.First - r) })
	if !found {
		i--
	}
	node, _ := slices.BinarySearch(a.launch.Nodes, blocks[i].Host)
	return node
}

// records takes those of a neighbor.
func (a *Agent) records(m overlay.Message) error {
	s := &a.service
	switch {
	case s.node != nil:
		s.node.Receive(collective.Hop(m.From), m.Body)
	case m.From != tree.Up:
		return fmt.Errorf("records before the launch")
	default:
		s.early = append(s.early, m) // the launch comes on another stream
	}
	return nil
}

// serve carries out what the node of the tree wants done. It is called after
// each batch of events.
func (a *Agent) serve() {
	s := &a.service
	for again := s.node != nil; again; {
		again = a.servePMGR()
		s.out.Reset()
		s.node.Flush(&s.out)
		for _, f := range s.out.Frames {
			h := tree.Header{Kind: overlay.KindRecords, To: tree.Neighbor, From: tree.Launcher}
			if slot := tree.Slot(f.To); f.To == collective.Up {
				a.parent.Send(link.Data, h, f.Bytes)
			} else if a.family.Live(slot) {
				a.family.Forward(slot, link.Data, h, f.Bytes)
			}
		}
		for _, d := range s.out.Deliveries {
			if p := a.pmgr; p != nil && d.Endpoint == p.endpoint {
				p.fromTree(d.Bytes, s.node)
				again = true
			} else if c := s.callers[job.Rank(d.Endpoint)]; c != nil {
				c.out = append(c.out, d.Bytes...)
				again = a.write(c) || again
			}
		}
		for _, f := range s.out.Faults {
			again = true
			switch {
			case f.From != collective.Local:
				a.broken(tree.Slot(f.From), f.Err)
			case f.Endpoint >= a.first.Size:
				a.nodeFailed(job.PhasePMGR, f.Err)
			default:
				a.accuse(job.Rank(f.Endpoint), f.Err)
			}
		}
		for _, c := range s.callers {
			if (len(c.in) > 0 || !c.reading) && a.takeRequests(c) {
				again = true
			}
		}
	}
}

// accuse ends the job because of a rank that broke the protocol.
func (a *Agent) accuse(rank job.Rank, err error) {
	r := a.first.byRank[rank]
	pid := r.pid
	if c := a.service.callers[rank]; c != nil {
		if pid == 0 { // the warden's word that the rank was started is on its way
			pid = unix.PeerPID(c.fd)
		}
		a.drop(c)
	}
	r.aborted = true
	a.fail(job.Failure{Class: job.CauseProtocol, Rank: rank, Host: a.self.Index, PID: pid, Phase: job.PhaseTree, Text: err.Error()})
}

// serviceDescriptor serves one of the service's descriptors.
func (a *Agent) serviceDescriptor(ready unix.Ready, buf []byte) {
	if ready.Tag == tagShared {
		a.takeCalls(callsAtOnce)
		return
	}
	c := a.service.callers[a.first.ranks[0].rank+job.Rank(ready.Tag&^tagService)]
	if c == nil {
		return
	}
	if ready.Writable {
		a.write(c)
	}
	if ready.Readable && c.fd >= 0 {
		a.readCaller(c, buf)
	}
}

// lostService tells the ranks that a child is lost.
func (a *Agent) lostService(slot tree.Slot, why string) {
	if a.service.node != nil {
		a.service.node.Lost(collective.Hop(slot), why)
	}
}

// closeService closes its descriptors.
func (a *Agent) closeService() {
	a.closePMGR()
	for _, c := range a.service.callers {
		a.drop(c)
	}
	if a.service.shared >= 0 {
		a.poller.Remove(a.service.shared)
		unix.Close(a.service.shared)
		a.service.shared = -1
	}
}

package agent

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/pmgr"
)

// pmgrPatience is how long a rank that has closed its connection without CLOSE
// may take to end, which explains more.
const pmgrPatience = 2 * time.Second

// tagPMGR marks the descriptors of PMGR in the agent's poller.
const tagPMGR = 1 << 61

// pmgrPort is where ranks of the first world find PMGR (--pmgr): a port of the
// loopback interface, for this user only. It stays open while they live, as
// whoever aborts makes a connection for that.
type pmgrPort struct {
	pmgrTree
	server   *pmgr.Server
	out      pmgr.Effects
	listener int // -1 when closed
	at       netip.AddrPort
	conns    map[int]*pmgrConn // by descriptor
	byRank   map[job.Rank]*pmgrConn
	most     int  // connections that may not yet have said whose they are
	told     bool // the user knows of one that was refused
}

// pmgrConn is one connection; its number is the descriptor.
type pmgrConn struct {
	fd      int
	known   bool // whose it is
	closing bool // as soon as out is written
	out     []byte
	reading bool // what the poller watches for
	writing bool
}

// pmgrHungUp is the event that a rank which closed its connection has had its
// time.
type pmgrHungUp struct{ rank job.Rank }

// openPMGR listens for the local ranks.
func (a *Agent) openPMGR(w *world) error {
	nodes := make([][]job.Rank, len(w.nodes))
	for _, b := range w.Blocks {
		n, _ := slices.BinarySearch(w.nodes, b.Host)
		for i := range b.Count {
			nodes[n] = append(nodes[n], b.First+job.Rank(i))
		}
	}
	self, _ := slices.BinarySearch(w.nodes, a.self.Index)
	p := &pmgrPort{conns: map[int]*pmgrConn{}, byRank: map[job.Rank]*pmgrConn{}, most: len(w.ranks) + moreCallers}
	var err error
	if p.server, err = pmgr.New(pmgr.World{Nodes: nodes, Node: self, Trees: a.clientTrees(w)}); err != nil {
		return err
	}
	if p.listener, p.at, err = unix.ListenLoopback(); err != nil {
		return err
	}
	if err := a.poller.Add(p.listener, tagPMGR|uint64(p.listener)); err != nil {
		unix.Close(p.listener)
		return err
	}
	p.pmgrTree.open(a, w)
	a.pmgr = p
	return nil
}

// env is what ranks are told, and how they are to use it: golaunch's tree is
// there, they need none of their own, nor shared memory that another launcher
// would have prepared.
func (p *pmgrPort) env(w *world) []string {
	id := fnv.New32a()
	id.Write([]byte(w.KVSName))
	return []string{
		"MPIRUN_HOST=" + p.at.Addr().String(), "MPIRUN_PORT=" + strconv.Itoa(int(p.at.Port())),
		"MPIRUN_NPROCS=" + strconv.Itoa(w.Size), "MPIRUN_ID=" + strconv.Itoa(int(id.Sum32()>>1|1)),
		"MPIRUN_MPD=0", "MPIRUN_USE_TREES=0", "MPIRUN_SHM_ENABLE=0",
	}
}

// clientTrees tells whether the user wants the clients to build a tree of their
// own.
func (a *Agent) clientTrees(w *world) bool {
	wanted := func(kv string) bool {
		value, ok := strings.CutPrefix(kv, "MPIRUN_USE_TREES=")
		return ok && value != "0"
	}
	return slices.ContainsFunc(a.launch.Env, wanted) ||
		slices.ContainsFunc(w.Apps, func(app job.App) bool { return slices.ContainsFunc(app.Env, wanted) })
}

// pmgrDescriptor serves one of the descriptors.
func (a *Agent) pmgrDescriptor(ready unix.Ready, buf []byte) {
	p, fd := a.pmgr, int(ready.Tag&^tagPMGR)
	if fd == p.listener {
		a.acceptPMGR(acceptBatch)
		return
	}
	c := p.conns[fd]
	if c == nil {
		return
	}
	if ready.Writable {
		a.writePMGR(c, nil)
	}
	if (ready.Readable && c.reading || ready.HangUp) && p.conns[fd] == c {
		a.readPMGR(c, buf)
	}
}

// drainAccepts bounds how many connections are looked at for the last word of a
// rank that has ended.
const drainAccepts = 1024

const (
	// acceptBatch is how many connections are taken in one turn of the event loop:
	// anybody on the node can make more of them than there are descriptors.
	acceptBatch = 16
	// acceptPause is for how long none is taken when descriptors have run out.
	acceptPause = 100 * time.Millisecond
)

// acceptPMGR takes up to most of the connections that wait, and returns how many
// there were.
func (a *Agent) acceptPMGR(most int) int {
	p := a.pmgr
	var fds []int
	var peers []netip.AddrPort
	for len(fds) < most {
		fd, peer, err := unix.TryAccept(p.listener)
		if err == unix.EAGAIN {
			break
		}
		if unix.IsExhausted(err) {
			a.pausePMGR(true)
			break
		}
		if err != nil {
			a.nodeFailed(job.PhasePMGR, fmt.Errorf("take a connection: %w", err))
			a.closePMGR()
			break
		}
		fds, peers = append(fds, fd), append(peers, peer)
	}
	if len(fds) == 0 {
		return 0
	}
	owners, err := unix.PeerUIDs(p.at, peers)
	unknown := 0
	for _, c := range p.conns {
		if !c.known {
			unknown++
		}
	}
	for i, fd := range fds {
		uid, sure := owners[peers[i]]
		refusal := err
		switch {
		case err != nil:
		case sure && uid != os.Getuid():
			refusal = fmt.Errorf("it is of user %d", uid)
		case unknown >= p.most:
			refusal = fmt.Errorf("%d others have not yet said whose they are", unknown)
		default:
			refusal = a.poller.Add(fd, tagPMGR|uint64(fd))
		}
		if refusal != nil {
			unix.Close(fd)
			a.refusePMGR(refusal)
			continue
		}
		unknown++
		p.conns[fd] = &pmgrConn{fd: fd, reading: true}
		p.server.Open(pmgr.Conn(fd), sure)
	}
	return len(fds)
}

// pausePMGR has the listener left alone for a while, or watched again.
func (a *Agent) pausePMGR(on bool) {
	p := a.pmgr
	if p == nil || p.listener < 0 {
		return // closed meanwhile
	}
	if err := a.poller.Modify(p.listener, tagPMGR|uint64(p.listener), !on, false); err != nil {
		a.nodeFailed(job.PhasePMGR, err)
	} else if on {
		time.AfterFunc(acceptPause, func() { a.inbox.Put(pmgrResumed{}) })
	}
}

// refusePMGR tells the user once why a connection was refused: anybody on the
// node can have it happen.
func (a *Agent) refusePMGR(err error) {
	level := 0
	if a.pmgr.told {
		level = 2
	}
	a.pmgr.told = true
	a.note(level, "a connection to PMGR was refused: %v", err)
}

// readPMGR takes what came over a connection, and reports whether there may be
// more.
func (a *Agent) readPMGR(c *pmgrConn, buf []byte) (more bool) {
	p := a.pmgr
	n, err := unix.TryRead(c.fd, buf)
	switch {
	case err == unix.EAGAIN:
		return false
	case err != nil:
		p.server.EOF(pmgr.Conn(c.fd), &p.out)
		if p.conns[c.fd] == c && !c.closing {
			p.out.Closes = append(p.out.Closes, pmgr.Conn(c.fd))
		}
	default:
		p.server.Receive(pmgr.Conn(c.fd), buf[:n], &p.out)
		if p.server.Wants(pmgr.Conn(c.fd)) { // the packet is not whole: clients write head and data
			unix.QuickAckFD(c.fd)
		}
	}
	a.pmgrEffects()
	a.watchPMGR(c)
	return p.conns[c.fd] == c
}

// drainPMGR reads what a rank that has ended still had to say, or said when it
// aborted.
func (a *Agent) drainPMGR(r *rank) {
	p := a.pmgr
	if p == nil || r.world != a.first || p.listener < 0 {
		return
	}
	for most := drainAccepts; most > 0; {
		n := a.acceptPMGR(min(most, acceptBatch))
		if most -= n; n == 0 {
			break
		}
	}
	buf := make([]byte, 4<<10)
	for _, c := range p.conns {
		if !c.known || p.byRank[r.rank] == c {
			for a.readPMGR(c, buf) {
			}
		}
	}
}

// endedPMGR says that a rank has ended as if all were well.
func (a *Agent) endedPMGR(r *rank) {
	if p := a.pmgr; p != nil && r.world == a.first {
		p.server.Ended(r.rank, &p.out)
		a.pmgrEffects()
	}
}

// pmgrVanished says that a rank still lives that has hung up.
func (a *Agent) pmgrVanished(e pmgrHungUp) {
	if p := a.pmgr; !a.first.byRank[e.rank].exited {
		p.server.Vanished(e.rank, &p.out)
		a.pmgrEffects()
	}
}

// watchPMGR has the poller watch for what a connection is good for now.
func (a *Agent) watchPMGR(c *pmgrConn) {
	p := a.pmgr
	if p.conns[c.fd] != c {
		return
	}
	reading := p.server.Wants(pmgr.Conn(c.fd))
	if writing := len(c.out) > 0; reading != c.reading || writing != c.writing {
		c.reading, c.writing = reading, writing
		a.poller.Modify(c.fd, tagPMGR|uint64(c.fd), reading, writing)
	}
}

// writePMGR writes to a connection and keeps what finds no room.
func (a *Agent) writePMGR(c *pmgrConn, data []byte) {
	if len(c.out) > 0 {
		c.out = append(c.out, data...)
		data = c.out
	}
	n, err := unix.TryWrite(c.fd, data)
	switch {
	case err != nil && err != unix.EAGAIN:
		c.out = nil // the rank has gone; reading shows it
	case n == len(data):
		c.out = nil
	default:
		c.out = append(c.out[:0], data[n:]...)
	}
	a.watchPMGR(c)
	if c.closing && len(c.out) == 0 {
		a.dropPMGR(c)
	}
}

func (a *Agent) dropPMGR(c *pmgrConn) {
	delete(a.pmgr.conns, c.fd)
	a.poller.Remove(c.fd)
	unix.Close(c.fd)
}

// pmgrEffects carries out what the PMGR server wants done.
func (a *Agent) pmgrEffects() {
	p, out := a.pmgr, &a.pmgr.out
	for i := range out.Requests {
		p.request(&out.Requests[i])
	}
	for _, x := range out.CheckIns {
		c := p.conns[int(x.Conn)]
		c.known, p.byRank[x.Rank] = true, c
	}
	for _, x := range out.Replies {
		if c := p.conns[int(x.Conn)]; c != nil {
			a.writePMGR(c, x.Data)
		}
	}
	for _, x := range out.Refusals {
		a.refusePMGR(x.Err)
	}
	for _, x := range out.Closes {
		if c := p.conns[int(x)]; c != nil {
			if c.closing = true; len(c.out) == 0 {
				a.dropPMGR(c)
			}
		}
	}
	for i := range out.Aborts {
		x := out.Aborts[i]
		if r := a.first.byRank[x.Rank]; x.Sure {
			a.pmgrAborts(r, &x)
		} else {
			r.words = &x
		}
	}
	for _, v := range out.Violations {
		r := a.first.byRank[v.Rank]
		r.aborted = true
		a.fail(job.Failure{Class: job.CauseProtocol, Rank: v.Rank, Host: a.self.Index, PID: r.pid, Phase: job.PhasePMGR, Text: v.Err.Error()})
	}
	for _, h := range out.Hangups {
		e := pmgrHungUp{h.Rank}
		time.AfterFunc(pmgrPatience, func() { a.inbox.Put(e) }) // an inbox takes what nobody reads any more
	}
	if out.Resumed {
		for _, c := range p.conns {
			a.watchPMGR(c)
		}
	}
	out.Reset()
}

// pmgrAborts reports an abort.
func (a *Agent) pmgrAborts(r *rank, x *pmgr.Abort) {
	if !r.aborted {
		r.aborted = true
		a.fail(job.Failure{Class: job.CauseAbort, Rank: r.rank, Host: a.self.Index, PID: r.pid, Code: x.Code, Phase: job.PhasePMGR, Text: x.Text})
	}
}

// closePMGR ends listening and hangs up. Nothing is served any more.
func (a *Agent) closePMGR() {
	p := a.pmgr
	if p == nil || p.listener < 0 {
		return
	}
	a.poller.Remove(p.listener)
	unix.Close(p.listener)
	p.listener = -1
	for _, c := range p.conns {
		p.server.EOF(pmgr.Conn(c.fd), &p.out)
		a.dropPMGR(c)
	}
	p.out.Reset()
}

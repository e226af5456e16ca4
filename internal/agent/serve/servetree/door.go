package servetree

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree/record"
)

// callsAtOnce is how many calls are taken before other events are; waitingCalls
// is more than wait at a time: their socket has room for fewer.
const (
	callsAtOnce  = 64
	waitingCalls = 4 << 10
)

// Poller is what watches the door.
type Poller interface {
	// Watch and CloseFD are as in serve.Node.
	Watch(fd int, ready func()) error
	CloseFD(fd int)
}

// Door is the descriptor that all ranks of a node share, of whatever job and world: over it
// a rank hands its agent the socket over which the two of them speak from then on.
// Until then it costs nothing.
type Door struct {
	poller  Poller
	shared  int // the agent's end; -1 if there is none
	rights  *unix.Rights
	refused serve.Refusals
	held    []heldCall

	// Find returns the servers here of a world of a job, or of all jobs where that is
	// job.TreeItself.
	Find func(of job.Number, world int) []*Server
	// Owner returns the rank of this node that a process belongs to, where that can be told;
	// not yet, where ranks have started of which it is not known.
	Owner func(pid int) (o Owner, known, notYet bool)
	// Note tells the user something.
	Note func(level int, format string, args ...any)
}

// Owner is a rank of a job.
type Owner struct {
	Job  job.Number
	Rank job.RankID
}

// heldCall is one by a process of which it is not known yet whose it is.
type heldCall struct {
	hello  record.Record
	fd     int
	sender int
}

// Open makes the descriptor, and returns the ranks' end.
func (d *Door) Open(p Poller) (ranks *os.File, err error) {
	mine, its, err := unix.PacketPair()
	if err != nil {
		return nil, err
	}
	d.poller, d.shared, d.rights = p, mine, unix.NewRights(256)
	if err = unix.SetNonblock(mine); err == nil {
		err = unix.PassSender(mine)
	}
	if err == nil {
		err = p.Watch(mine, func() { d.take(callsAtOnce) })
	}
	if err != nil {
		d.shared = -1
		unix.Close(mine)
		unix.Close(its)
		return nil, err
	}
	return os.NewFile(uintptr(its), "the tree's service"), nil
}

// open tells whether ranks can call.
func (d *Door) open() bool { return d.rights != nil && d.shared >= 0 }

// Close closes it. No rank can call any more.
func (d *Door) Close() {
	if d.open() {
		d.poller.CloseFD(d.shared)
		d.shared = -1
	}
	for _, c := range d.held {
		unix.Close(c.fd)
	}
	d.held = nil
}

// Born takes the calls that waited for word of a process, which is a rank.
func (d *Door) Born(pid int) { d.again(func(sender int) bool { return sender == pid }) }

// AllBorn takes those that waited for word of any: to find out of whose descent a process is
// takes a while, so that this is not done for each rank.
func (d *Door) AllBorn() { d.again(func(int) bool { return true }) }

func (d *Door) again(due func(sender int) bool) {
	held := d.held
	d.held = nil
	for i := range held {
		c := &held[i]
		if !due(c.sender) {
			d.held = append(d.held, *c)
			continue
		}
		if err := d.admit(&c.hello, c.fd, c.sender); err != nil {
			unix.Close(c.fd)
			d.refuse(err)
		}
	}
}

// takeAll takes the calls that wait.
func (d *Door) takeAll() { d.take(waitingCalls) }

// take takes at most some of the sockets that ranks hand over, each with the hello
// of its rank.
func (d *Door) take(most int) {
	for d.open() && most > 0 {
		most--
		msg, fds, err := d.rights.Recv(d.shared)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.ErrTruncated):
			d.refuse(err)
			continue
		case err != nil:
			d.Close()
			return
		}
		if err := d.call(msg, fds); err != nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
			d.refuse(err)
		}
	}
}

// refuse tells the user why a call was refused.
func (d *Door) refuse(err error) {
	d.Note(d.refused.Level(), "a call for the tree's service was refused: %v", err)
}

// call takes one. After an error the descriptors are the caller's to close.
func (d *Door) call(msg []byte, fds []int) error {
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
	case !unix.IsStreamSocket(fds[0]): // of others, calls may wait whatever is asked for
		return errors.New("what came with the hello is no local stream socket")
	}
	return d.admit(&hello, fds[0], d.rights.Sender)
}

// admit hands a call to who serves its rank, or tells the caller why not.
func (d *Door) admit(hello *record.Record, fd, sender int) error {
	owner, known, notYet := d.Owner(sender)
	if !known && notYet && len(d.held) < waitingCalls {
		hello.Body = nil // its memory is the message's
		d.held = append(d.held, heldCall{*hello, fd, sender})
		return nil
	}
	s, err := d.server(owner.Job, hello)
	if r := owner.Rank; err == nil && known && (r.World != s.w.ID || int(r.Rank) != hello.Src) {
		as := job.RankID{World: s.w.ID, Rank: job.Rank(hello.Src)}
		err = fmt.Errorf("pid %d calls as rank %v, and is a process of rank %v: has it changed PMI_RANK?", sender, as, r)
	}
	if err == nil {
		err = s.call(hello, fd)
	}
	if err != nil {
		_, _ = unix.TrySend(fd, record.AppendFrame(nil, &record.Record{Kind: record.Fail, Body: []byte(err.Error())}))
	}
	return err
}

// server finds who serves the rank that calls, whose job is known unless it is job.TreeItself.
func (d *Door) server(of job.Number, hello *record.Record) (*Server, error) {
	if hello.Seq != record.Version {
		return nil, fmt.Errorf("rank %d speaks version %d of the protocol; this is version %d: build the program with this golaunch's library", hello.Src, hello.Seq, record.Version)
	}
	var found []*Server
	if hello.Comm < 1<<16 { // worlds are numbered below that
		found = slices.DeleteFunc(d.Find(of, int(hello.Comm)), func(s *Server) bool { return s.w.Local(job.Rank(hello.Src)) == nil })
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("rank %d is not on this node", hello.Src)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("rank %d of %d jobs is on this node, and the job of its process cannot be told", hello.Src, len(found))
}

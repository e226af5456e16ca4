// Package member is an endpoint's side of the collective operations: the records of a
// rank's library for its agent, and its reading of the answers (docs/client.md). A
// [Session] is pure: bytes for the agent come out, bytes of the agent go in, and
// requests complete on the way. Package client puts a socket to it; libgolaunch is the
// same in C.
package member

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/tree/record"
)

// Session is one endpoint's connection to its agent. It is not safe for
// concurrent use.
type Session struct {
	rank, size  int
	node, nodes int
	clusters    []int // in which the world is, at each depth of the network from 1

	out     []byte
	in      []byte // not whole yet
	err     error  // why nothing works any more
	welcome *Request
	comms   map[uint64]*Comm
	number  uint64 // of the last request that is no operation
	sends   window
	recvs   window
	looks   window // of these, what is answered at once
	leavers window // of these, those of members that leave
	asks    window
	creates window
	fences  window
	plans   window              // questions for schedules
	planner bool                // the agent takes them
	prober  bool                // and probes
	hears   bool                // and waits for members to leave
	others  map[uint64]*Request // puts, gets, by number
	said    uint64              // bytes for the agent so far
}

// Request is something under way.
type Request struct {
	// OnDone, if set before the session is used again, is called once, when
	// the request is complete.
	OnDone func()

	comm *Comm
	seq  uint64
	op   record.Op
	fn   uint8
	root int
	size int64  // the operation's
	send []byte // belongs to the request until it is done
	recv []byte

	left   int64 // bytes to get
	toSend int64 // bytes to be asked for

	src    int
	depth  int // of a SwitchCluster
	tag    int64
	wanted wanted // src and tag of a Recv before there was a message for it
	got    int64
	grows  bool  // recv is made for the message
	kept   bool  // of a Send: the message waits at its receiver's agent
	sort   uint8 // purpose of a Recv
	value  []byte
	found  bool
	made   *Comm
	plan   []record.ScheduledMessage
	part   *Request // request it is built of, if that has its buffers
	opened bool     // counted in comm.open
	unread bool     // nobody waits for it any more
	done   bool
	err    error
}

// Failure is an agent's report of something that cannot be.
type Failure struct {
	Cause  record.Cause
	Member int   // that has left, in the communicator or, of what has none, in the world; -1: not known
	All    []int // of a Left: those that have
	Text   string
}

// Error returns the text.
func (f *Failure) Error() string { return f.Text }

// Done tells whether the request is complete, and if so its outcome.
func (r *Request) Done() (done bool, err error) { return r.done, r.err }

// Message describes the message of a Recv.
func (r *Request) Message() (src int, tag int64, size int64) { return r.src, r.tag, r.got }

// Value returns the outcome of a Get.
func (r *Request) Value() (value []byte, found bool) { return r.value, r.found }

// Made returns the communicator that a Sub or a Split made; nil for one that this
// endpoint is no member of.
func (r *Request) Made() *Comm { return r.made }

// Abandon gives the buffers of a request back to the program, which waits for it no
// more. The request goes on with bytes of its own. Nothing more can be begun over its
// communicator, if it has one, for the reason given; only messages of the library can.
func (r *Request) Abandon(why error) {
	if r.comm != nil {
		r.comm.GiveUp(why)
	}
	if r.done {
		return
	}
	if r.part != nil {
		r.part.Abandon(why)
	}
	r.send = bytes.Clone(r.send)
	r.recv = bytes.Clone(r.recv)
}

func (r *Request) finish(err error) {
	if r.done {
		return
	}
	r.done, r.err = true, err
	if r.opened {
		r.comm.open--
	}
	if r.OnDone != nil {
		r.OnDone() // may begin what r was a part of
	}
	if r.opened {
		r.comm.freeIfIdle()
	}
}

// countOpen counts a request that its communicator's end must wait for.
func (r *Request) countOpen() {
	r.opened = true
	r.comm.open++
}

// New returns the session of an endpoint that knows its place: an agent's, or a
// test's.
func New(rank, size, node, nodes int) *Session {
	s := &Session{rank: rank, size: size, node: node, nodes: nodes, comms: map[uint64]*Comm{}, others: map[uint64]*Request{}, prober: true, hears: true}
	s.sends = window{most: record.MaxWaiting, mostFresh: record.MaxRequests, issue: s.issueSend}
	s.recvs = window{most: record.MaxWaiting, issue: s.issueRecv}
	s.looks = window{most: record.MaxRequests, issue: s.issueRecv}
	s.leavers = window{most: record.MaxWaiting, issue: s.issueLeft}
	s.asks = window{most: record.MaxRequests, issue: s.issueAsk}
	s.creates = window{most: record.MaxRequests, issue: s.issueCreate}
	s.plans = window{most: record.MaxRequests, issue: s.issueSchedule}
	s.fences = window{most: 1, issue: s.issueFence} // a rank is in one at a time
	return s
}

// Open returns the session of a rank of a world that has just connected, and the
// request that is done once the agent has welcomed it.
func Open(world, rank int) (*Session, *Request) {
	s := New(rank, 0, 0, 0)
	s.welcome = &Request{}
	s.put(&record.Record{Kind: record.Hello, Seq: record.Version, Src: rank, Comm: uint64(world), Off: record.Keeps})
	return s, s.welcome
}

// Rank returns the number of this endpoint's rank.
func (s *Session) Rank() int { return s.rank }

// Size returns the number of ranks.
func (s *Session) Size() int { return s.size }

// Node returns the number of this endpoint's node.
func (s *Session) Node() int { return s.node }

// Nodes returns the number of nodes.
func (s *Session) Nodes() int { return s.nodes }

// lastFixed is the highest number of a communicator that always exists.
const lastFixed = 1

// World returns the communicator of all ranks. An agent is no member.
func (s *Session) World() *Comm { return s.comm(0, s.rank, s.size) }

// Agents returns the communicator of all agents. A rank is no member.
func (s *Session) Agents() *Comm { return s.comm(1, s.node, s.nodes) }

func (s *Session) comm(id uint64, rank, size int) *Comm {
	c := s.comms[id]
	if c == nil {
		c = &Comm{session: s, id: id, rank: rank, size: size, ops: map[uint64]*Request{}}
		s.comms[id] = c
	}
	return c
}

// Take returns the bytes for the agent, which are the caller's.
func (s *Session) Take() []byte {
	out := s.out
	s.out = nil
	return out
}

// Said counts the bytes for the agent so far, those of all requests that are done among
// them.
func (s *Session) Said() uint64 { return s.said }

func (s *Session) put(r *record.Record) {
	before := len(s.out)
	s.out = record.AppendFrame(s.out, r)
	s.said += uint64(len(s.out) - before)
}

// Receive takes bytes of the agent. After an error the session is over.
func (s *Session) Receive(b []byte) error {
	if s.err != nil {
		return s.err
	}
	if len(s.in) > 0 {
		b = append(s.in, b...)
	}
	for {
		raw, rest, err := record.Frame(b)
		if err == nil && raw == nil {
			s.in = append([]byte(nil), rest...)
			return nil
		}
		var r record.Record
		if err == nil {
			if _, err = record.Parse(raw, &r); err == nil {
				err = s.take(&r)
			}
		}
		if err != nil {
			s.Close(fmt.Errorf("agent: %w", err))
			return s.err
		}
		b = rest
	}
}

// Close ends every request with err.
func (s *Session) Close(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	if s.welcome != nil {
		s.welcome.finish(err)
	}
	for _, c := range s.comms {
		for _, r := range c.ops {
			r.finish(err)
		}
		for _, r := range c.queue {
			r.finish(err)
		}
	}
	s.sends.fail(err)
	s.recvs.fail(err)
	s.looks.fail(err)
	s.leavers.fail(err)
	s.asks.fail(err)
	s.creates.fail(err)
	s.fences.fail(err)
	s.plans.fail(err)
	for _, r := range s.others {
		r.finish(err)
	}
}

// Bye says goodbye.
func (s *Session) Bye() { s.put(&record.Record{Kind: record.Bye}) }

var errUnexpected = errors.New("a record that nothing asked for")

func (s *Session) take(r *record.Record) error {
	switch r.Kind {
	case record.Welcome:
		return s.takeWelcome(r)
	case record.Data, record.Pull:
		return s.takeOp(r)
	case record.Match, record.SendData, record.SendPull, record.Taken, record.Kept:
		return s.takeMessage(r)
	case record.Answer:
		return s.takeAnswer(r)
	case record.Fail:
		return s.takeFail(r)
	case record.Schedule:
		return s.takeSchedule(r)
	case record.Made:
		q := s.creates.live[r.Seq]
		if q == nil {
			return errUnexpected
		}
		q.made = s.comm(r.Comm, r.Dst, int(r.Size))
		s.creates.end(r.Seq, nil)
		return nil
	case record.Fence:
		if s.fences.live[r.Seq] == nil {
			return errUnexpected
		}
		s.fences.end(r.Seq, nil)
		return nil
	}
	q := s.others[r.Seq]
	if q == nil {
		return errUnexpected
	}
	switch r.Kind {
	case record.Got:
		q.value, q.found = append([]byte(nil), r.Body...), r.Count == 1
	case record.Cluster:
		if err := s.takeCluster(q, r); err != nil {
			return err
		}
	case record.Mapped:
		q.value, q.got, q.tag = append([]byte(nil), r.Body...), r.Size, r.Off
	default:
		return errUnexpected // q ends with the session
	}
	delete(s.others, r.Seq)
	q.finish(nil)
	return nil
}

func (s *Session) takeWelcome(r *record.Record) error {
	if s.welcome == nil {
		return errUnexpected
	}
	var err error
	if s.clusters, err = record.ParseClusters(r.Body); err != nil {
		return err
	}
	s.rank, s.size, s.node, s.nodes = r.Src, int(r.Size), r.Dst, r.Count
	s.planner, s.prober = r.Fn == record.Schedules, r.Seq == record.Probes
	s.hears = r.Comm == record.Leavers
	most := record.MaxRequests // of an older agent
	if r.Off > 0 {
		most = int(min(r.Off, record.MaxWaiting))
	}
	s.sends.most, s.recvs.most, s.leavers.most = most, most, most
	s.welcome.finish(nil)
	s.welcome = nil
	return nil
}

func (s *Session) takeFail(r *record.Record) error {
	err := error(&Failure{Cause: record.Cause(r.Count), Member: r.Src, Text: string(r.Body)})
	if s.welcome != nil {
		return err
	}
	switch r.Fn {
	case record.FailOp:
		if c := s.comms[r.Comm]; c != nil {
			if q := c.ops[r.Seq]; q != nil {
				delete(c.ops, r.Seq)
				q.finish(err)
				c.goOn()
			}
		}
	case record.FailSend:
		s.sends.end(r.Seq, err)
	case record.FailRecv:
		switch q := s.recvs.live[r.Seq]; {
		case q == nil:
		case record.Cause(r.Count) == record.CauseTruncated:
			q.src, q.tag, q.got = r.Src, r.Off, r.Size
		case record.Cause(r.Count) == record.CauseLeft && q.wanted.src == record.Any && q.src != record.Any:
			s.receiveAgain(q)
			return nil
		}
		s.recvs.end(r.Seq, err)
		s.looks.end(r.Seq, err)
		s.leavers.end(r.Seq, err)
	case record.FailCreate:
		s.creates.end(r.Seq, err)
	case record.FailAsk:
		s.asks.end(r.Seq, err)
	case record.FailSchedule:
		s.plans.end(r.Seq, err)
	default:
		if q := s.others[r.Seq]; q != nil {
			delete(s.others, r.Seq)
			q.finish(err)
		}
		s.fences.end(r.Seq, err)
	}
	return nil
}

func (s *Session) issueCreate(q *Request) {
	s.put(&record.Record{Kind: record.Create, Seq: q.seq, Off: q.tag, Size: q.size, Body: q.send})
}

func (s *Session) issueAsk(q *Request) {
	s.put(&record.Record{Kind: record.Ask, Comm: q.comm.id, Seq: q.seq, Src: q.comm.rank, Dst: q.root, Count: 1})
}

func (s *Session) takeAnswer(r *record.Record) error {
	q := s.asks.live[r.Seq]
	if q == nil || r.Off < 0 || r.Src != q.root {
		return errUnexpected
	}
	q.got, q.src = r.Off, int(r.Size)
	s.asks.end(r.Seq, nil)
	return nil
}

// register registers a request that is no operation.
func (s *Session) register(r *record.Record) *Request {
	q := &Request{}
	if s.err != nil {
		q.finish(s.err)
		return q
	}
	s.number++
	r.Seq = s.number
	s.others[r.Seq] = q
	s.put(r)
	return q
}

// Put puts a key and its value on the world's bulletin board. Others see it
// after the next fence.
func (s *Session) Put(key string, value []byte) *Request {
	switch {
	case len(key) > record.MaxKey:
		return refused("put: key of %d bytes, at most %d are allowed", len(key), record.MaxKey)
	case len(value) > record.MaxValue:
		return refused("put: value of %d bytes, at most %d are allowed", len(value), record.MaxValue)
	}
	return s.register(&record.Record{Kind: record.Put, Size: int64(len(key)), Body: append([]byte(key), value...)})
}

// Get looks a key up: as of the last fence, and later puts here.
func (s *Session) Get(key string) *Request {
	if key == "" {
		return refused("get: empty key")
	}
	if len(key) > record.MaxKey {
		return refused("get: key of %d bytes, at most %d are allowed", len(key), record.MaxKey)
	}
	return s.register(&record.Record{Kind: record.Get, Body: []byte(key)})
}

// Map asks for the bulletin board as a file (docs/pmi.md).
func (s *Session) Map() *Request { return s.register(&record.Record{Kind: record.Map}) }

// Mapped returns the file that a Map got: its path, its size and how many fences it
// has seen.
func (r *Request) Mapped() (path string, size, epoch int64) { return string(r.value), r.got, r.tag }

// Fence waits until every rank has entered it, here or by a barrier of PMI. One that
// is begun before another is complete comes after it.
func (s *Session) Fence() *Request {
	q := &Request{}
	if s.err != nil {
		q.finish(s.err)
		return q
	}
	s.number++
	q.seq = s.number
	s.fences.add(q)
	return q
}

func (s *Session) issueFence(q *Request) { s.put(&record.Record{Kind: record.Fence, Seq: q.seq}) }

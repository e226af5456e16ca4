package collective

import (
	"bytes"
	"fmt"

	"github.com/golaunch/golaunch/tree/record"
)

// source names a message: who sent it, under which number.
type source struct {
	comm uint64
	src  int // its number
	seq  uint64
}

// message is one that nobody has asked for yet.
type message struct {
	source
	rank      int // of who sent it
	tag, size int64
	body      []byte
	have      bool // body is all of it, and was acknowledged
	told      bool // the sender knows that it waits here
}

// messageCost is what a message that is kept counts for, beside its body.
const messageCost = 128

// kept is what a message counts for in endpoint.stored.
func (m *message) kept() int {
	if !m.have {
		return 0 // there are at most record.MaxWaiting, and record.MaxRequests more of each sender
	}
	return len(m.body) + messageCost
}

// drop forgets messages that nobody has asked for.
func (ep *endpoint) drop(wanted func(*message) bool) {
	for i := range ep.unexpected.all() {
		if wanted(&i.value) {
			ep.unqueue(i)
		}
	}
}

// unqueue takes a message from those that nobody has asked for.
func (ep *endpoint) unqueue(i *item[message]) {
	m := &i.value
	ep.unexpected.remove(i)
	ep.stored -= m.kept()
	if m.told {
		ep.heads--
	}
}

// want is a Recv that waits for its message.
type want struct {
	comm, seq uint64
	src       int
	tag, max  int64
	probe     bool // it leaves the message
}

// sent is a message of a local endpoint that was not taken yet.
type sent struct {
	comm uint64
	dst  int // its number
	rank int
	tag  int64

	asked, given int64 // bytes of a long one
	kept         bool  // it waits at its receiver's agent
}

// over forgets a message that an endpoint has sent.
func (ep *endpoint) over(seq uint64) {
	x, under := ep.sends[seq]
	if under && !x.kept {
		ep.fresh--
	}
	delete(ep.sends, seq)
}

// flow is a message on its way, piece by piece, to a local endpoint.
type flow struct {
	source
	to                     uint64 // the Recv
	from                   int    // the sender's rank
	number                 int    // the receiver's
	tag                    int64
	size, asked, left, due int64
	runs                   bool // it asks for data
}

// Of the messages on their way to an endpoint so many ask for data at a time, and few may
// ask for much.
const (
	mostFlows = 64
	fewFlows  = 16
)

func (w *want) takes(m *message) bool {
	return w.comm == m.comm && (w.src == record.Any || w.src == m.rank) && (w.tag == m.tag || w.tag == record.Any && m.tag <= record.MaxTag)
}

// message takes one that came for a local member.
func (n *Node) message(s *seat, r *record.Record) {
	ep := s.ep
	m := message{source: source{r.Comm, r.Src, r.Seq}, rank: r.Src, tag: r.Off, size: r.Size}
	body := r.Body
	if s.comm.dir != nil {
		var ok bool
		if m.rank, ok = s.comm.parseRank(body); !ok { // agents that do not keep to the protocol
			n.breakComm(s.comm, other("message %d over %s: from nobody", r.Seq, n.name(s.comm)))
			return
		}
		body = body[:len(body)-rankBytes]
	}
	if int64(len(body)) == r.Size {
		m.body, m.have = body, true
	}
	n.probed(s, &m)
	if i := ep.posted.find(func(w *want) bool { return w.takes(&m) }); i != nil {
		ep.posted.remove(i)
		if m.have {
			n.taken(s, &m)
		}
		n.match(s, i.value, &m)
		return
	}
	if m.have && ep.stored+m.kept() <= Window {
		m.body = bytes.Clone(body)
		ep.stored += m.kept()
		n.taken(s, &m)
	} else {
		m.body, m.have = nil, false // asked for when it is wanted
		if m.told = ep.heads < record.MaxWaiting; m.told {
			ep.heads++
			n.send(&record.Record{Kind: record.Kept, Comm: m.comm, Seq: m.seq, Src: s.number, Dst: m.src, Count: 1})
		}
	}
	ep.unexpected.push(m)
}

// takeKept learns that a message of an endpoint waits at its receiver's agent.
func (n *Node) takeKept(s *seat, r *record.Record) {
	ep := s.ep
	x, under := ep.sends[r.Seq]
	if !under || x.kept {
		return
	}
	x.kept = true
	ep.sends[r.Seq] = x
	ep.fresh--
	if !ep.old {
		word := *r
		word.Src, word.Dst = x.rank, s.rank
		n.tell(ep, &word)
	}
}

// Old says that an endpoint does not know of messages that wait at their receiver's agent.
func (n *Node) Old(endpoint int) {
	if ep := n.ends[endpoint]; ep != nil {
		ep.old = true
	}
}

// probed tells the probes that wait for a message of it. Where a Recv that was made
// before one of them takes it, that one waits on.
func (n *Node) probed(s *seat, m *message) {
	for i := range s.ep.posted.all() {
		switch w := i.value; {
		case !w.takes(m):
		case !w.probe:
			return
		default:
			s.ep.posted.remove(i)
			n.tellProbe(s, w, m)
		}
	}
}

// tellProbe answers a probe: with no message where m is nil.
func (n *Node) tellProbe(s *seat, w want, m *message) {
	r := record.Record{Kind: record.Match, Fn: record.RecvProbe, Comm: w.comm, Seq: w.seq, Src: record.Any, Dst: s.rank, Off: record.Any}
	if m != nil {
		r.Src, r.Off, r.Size, r.Count = m.rank, m.tag, m.size, 1
	}
	n.tell(s.ep, &r)
}

// taken tells the sender that its message needs nothing more of it.
func (n *Node) taken(s *seat, m *message) {
	n.send(&record.Record{Kind: record.Taken, Comm: m.comm, Seq: m.seq, Src: s.number, Dst: m.src, Count: 1})
}

// match brings a Recv and a message together.
func (n *Node) match(s *seat, w want, m *message) {
	if m.size > w.max {
		n.tell(s.ep, &record.Record{Kind: record.Fail, Fn: record.FailRecv, Comm: w.comm, Seq: w.seq, Src: m.rank, Off: m.tag, Size: m.size,
			Count: int(record.CauseTruncated), Body: fmt.Appendf(nil, "a message of %d bytes from member %d; there is room for %d", m.size, m.rank, w.max)})
		if !m.have {
			n.taken(s, m)
		}
		return
	}
	n.tell(s.ep, &record.Record{Kind: record.Match, Comm: w.comm, Seq: w.seq, Src: m.rank, Dst: s.rank, Count: 1, Off: m.tag, Size: m.size, Body: m.body})
	if m.have {
		return
	}
	if m.size == 0 { // nothing of it is still to come
		n.taken(s, m)
		return
	}
	f := &flow{source: m.source, to: w.seq, from: m.rank, number: s.number, tag: m.tag, size: m.size, left: m.size}
	s.ep.flows[m.source] = f
	s.ep.later = append(s.ep.later, f)
	n.runFlows(s.ep)
}

// runFlows has messages ask for data that did not yet, where others have come to an end.
func (n *Node) runFlows(ep *endpoint) {
	for len(ep.later) > 0 && ep.running < mostFlows {
		f := ep.later[0]
		ep.later = ep.later[1:]
		if ep.flows[f.source] == f {
			f.runs = true
			ep.running++
			n.askMessage(ep, f)
		}
	}
}

// endFlow forgets a message on its way.
func (n *Node) endFlow(ep *endpoint, f *flow) {
	delete(ep.flows, f.source)
	if f.runs {
		ep.running--
	}
	n.runFlows(ep)
}

// askMessage asks for what a message's receiver has room for.
func (n *Node) askMessage(ep *endpoint, f *flow) {
	room := int64(Window)
	if ep.running > fewFlows {
		room = record.Chunk
	}
	for f.runs && f.asked < f.size && f.due+int64(ep.backlog) < room {
		size := min(record.Chunk, f.size-f.asked)
		n.send(&record.Record{Kind: record.SendPull, Comm: f.comm, Seq: f.seq, Src: f.number, Dst: f.src, Count: 1, Off: f.asked, Size: size})
		f.asked += size
		f.due += size
	}
}

// messageData takes a piece.
func (n *Node) messageData(s *seat, r *record.Record) {
	key := source{r.Comm, r.Src, r.Seq}
	f := s.ep.flows[key]
	size := int64(len(r.Body))
	if f == nil || size > f.due {
		return // of a message that failed
	}
	f.due -= size
	f.left -= size
	out := *r
	out.Seq, out.Src, out.Dst = f.to, f.from, s.rank
	n.tell(s.ep, &out)
	if f.left == 0 {
		n.endFlow(s.ep, f)
		n.taken(s, &message{source: key})
		return
	}
	n.askMessage(s.ep, f)
}

// receive takes a Recv of an endpoint.
func (n *Node) receive(ep *endpoint, r *record.Record) error {
	s := ep.seats[r.Comm]
	switch {
	case r.Fn == record.RecvLeft && len(ep.leavers) >= record.MaxWaiting:
		return fmt.Errorf("more than %d waits for members to leave at a time", record.MaxWaiting)
	case r.Fn == record.RecvTake || r.Fn == record.RecvProbe:
		if ep.posted.length+len(ep.flows) >= record.MaxWaiting {
			return fmt.Errorf("more than %d receives at a time", record.MaxWaiting)
		}
	}
	switch {
	case r.Src >= s.comm.size:
		return fmt.Errorf("a receive from member %d of %d", r.Src, s.comm.size)
	case r.Fn > record.RecvLeft:
		return fmt.Errorf("a receive of sort %d", r.Fn)
	}
	w := want{comm: r.Comm, seq: r.Seq, src: r.Src, tag: r.Off, max: r.Size, probe: r.Fn != record.RecvTake}
	if r.Fn == record.RecvLeft {
		ep.leavers = append(ep.leavers, w)
		n.watch(s, record.Any)
		n.tellLeavers(s.comm)
		return nil
	}
	if s.withheld {
		defer func() { n.tellLeaver(s, n.goneFrom(s.comm)) }() // it may have taken the last of what somebody had sent
	}
	why := n.hopeless(s.comm, r.Src, r.Off)
	if i := ep.unexpected.find(func(m *message) bool { return w.takes(m) && (m.have || why.text == "") }); i != nil {
		if w.probe {
			n.tellProbe(s, w, &i.value)
			return nil
		}
		ep.unqueue(i)
		n.match(s, w, &i.value)
		return nil
	}
	if why.text != "" {
		n.failed(ep, record.FailRecv, r.Comm, r.Seq, why)
		return nil
	}
	if r.Fn == record.RecvLook {
		n.tellProbe(s, w, nil)
		return nil
	}
	ep.posted.push(w)
	n.watch(s, w.src)
	return nil
}

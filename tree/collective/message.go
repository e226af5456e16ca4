package collective

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// source names a message by its sender, and its number there.
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
	coming    bool // body was asked for
	taken     bool // it waits no more
}

// messageCost counts for a kept message beside its body.
const messageCost = 128

// cost returns the bytes that a message counts for in endpoint.stored.
func (m *message) cost() int {
	if !m.have && !m.coming {
		return 0 // there are at most record.MaxWaiting, and record.MaxRequests more of each sender
	}
	return int(m.size) + messageCost
}

// senderID is a member of a communicator, by its rank there.
type senderID struct {
	comm uint64
	rank int
}

// queue keeps a message that nobody has asked for.
func (n *Node) queue(ep *endpointState, m message) {
	i := ep.unexpected.push(m)
	ep.untaken[senderID{m.comm, m.rank}]++
	if m.have {
		return
	}
	ep.untold = append(trimDone(ep.untold), i)
	if m.size <= record.Chunk {
		ep.short = append(trimDone(ep.short), i)
	}
	if m.size > record.Chunk || ep.posted.length > 0 || len(ep.active) > 0 {
		n.tellKept(ep) // else it is received soon, most likely
	}
}

// trimDone drops finished messages from the front of a list.
func trimDone(list []*item[message]) []*item[message] {
	for len(list) > 0 && (list[0].value.taken || list[0].value.have) {
		list[0] = nil
		list = list[1:]
	}
	return list
}

// drop forgets messages that nobody has asked for.
func (n *Node) drop(ep *endpointState, wanted func(*message) bool) {
	for i := range ep.unexpected.all() {
		if wanted(&i.value) {
			n.unqueue(ep, i)
		}
	}
}

// unqueue takes a message from those that nobody has asked for. In its place the body of
// another may come, or its sender be told.
func (n *Node) unqueue(ep *endpointState, i *item[message]) {
	m := &i.value
	ep.unexpected.remove(i)
	ep.stored -= m.cost()
	m.taken = true
	who := senderID{m.comm, m.rank}
	if ep.untaken[who]--; ep.untaken[who] == 0 {
		delete(ep.untaken, who)
	}
	if m.coming {
		delete(ep.coming, m.source)
	}
	if m.told {
		if ep.heads--; ep.heads == record.MaxWaiting-1 {
			n.tellKept(ep)
		}
	}
	n.fetch(ep)
}

// tellKept tells the senders of messages without a body that these wait here: the
// receiver may wait for others that they hold back because of these.
func (n *Node) tellKept(ep *endpointState) {
	for len(ep.untold) > 0 && ep.heads < record.MaxWaiting {
		i := ep.untold[0]
		ep.untold[0] = nil
		ep.untold = ep.untold[1:]
		m := &i.value
		s := ep.seats[m.comm]
		if m.taken || m.have || s == nil {
			continue
		}
		m.told = true
		ep.heads++
		n.send(&record.Record{Kind: record.Kept, Comm: m.comm, Seq: m.seq, Src: s.number, Dst: m.src, Count: 1})
	}
}

// fetch asks for the bodies of short messages, as far as there is room for them, before
// they are received.
func (n *Node) fetch(ep *endpointState) {
	for ep.short = trimDone(ep.short); len(ep.short) > 0; ep.short = trimDone(ep.short) {
		i := ep.short[0]
		m := &i.value
		s := ep.seats[m.comm]
		if s == nil || ep.stored+int(m.size)+messageCost > Window {
			return
		}
		ep.short[0] = nil
		ep.short = ep.short[1:]
		m.coming = true
		ep.stored += m.cost()
		ep.coming[m.source] = i
		if m.size == 0 { // nothing is to come
			n.fetched(s, i, nil)
			continue
		}
		n.send(&record.Record{Kind: record.SendPull, Comm: m.comm, Seq: m.seq, Src: s.number, Dst: m.src, Count: 1, Size: m.size})
	}
}

// tags are those from one on and before another.
type tags struct{ first, end int64 }

// refuses tells whether a member does not take messages of a tag.
func (s *seat) refuses(tag int64) bool {
	return slices.ContainsFunc(s.refused, func(t tags) bool { return tag >= t.first && tag < t.end })
}

// refuse drops the messages of some tags that a member has, or comes to have: for their
// senders they are taken.
func (n *Node) refuse(s *seat, t tags) {
	if i := slices.IndexFunc(s.refused, func(x tags) bool { return x.end == t.end }); i >= 0 {
		s.refused[i].first = min(s.refused[i].first, t.first)
	} else if len(s.refused) < mostRefused {
		s.refused = append(s.refused, t)
	}
	for i := range s.ep.unexpected.all() {
		m := &i.value
		if m.comm != s.comm.id || m.coming || !s.refuses(m.tag) {
			continue
		}
		if !m.have {
			n.tellTaken(s, m)
		}
		n.unqueue(s.ep, i)
	}
}

// mostRefused bounds the runs of tags that a member refuses. Libraries have one for
// each sort of calls.
const mostRefused = 16

// fetched takes the body of a message that waits.
func (n *Node) fetched(s *seat, i *item[message], body []byte) {
	m := &i.value
	delete(s.ep.coming, m.source)
	m.coming, m.have, m.body = false, true, bytes.Clone(body)
	n.tellTaken(s, m)
	if m.told {
		m.told = false
		s.ep.heads--
	}
	if s.refuses(m.tag) {
		n.unqueue(s.ep, i)
	}
}

// waitingRecv is a Recv that waits for its message.
type waitingRecv struct {
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

// forgetSend forgets a message that an endpoint has sent.
func (ep *endpointState) forgetSend(seq uint64) {
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
	trial                  bool // it has asked for a first piece, which counts in endpoint.trials
}

// Bytes that the messages on their way to an endpoint ask for at a time. Where they are
// more than a few, each asks for a first piece beyond that, so that senders who do not
// answer hold up no others before they are a thousand.
const (
	mostDue    = 16 * Window
	mostTrials = 16 * Window
	firstPiece = 4 << 10
	fewFlows   = 16
)

func (w *waitingRecv) takes(m *message) bool {
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
			n.breakComm(s.comm, otherReason("message %d over %s: from nobody", r.Seq, n.name(s.comm)))
			return
		}
		body = body[:len(body)-rankBytes]
	}
	if int64(len(body)) == r.Size {
		m.body, m.have = body, true
	}
	if s.refuses(m.tag) {
		n.tellTaken(s, &m)
		return
	}
	n.probed(s, &m)
	if i := ep.posted.find(func(w *waitingRecv) bool { return w.takes(&m) }); i != nil {
		ep.posted.remove(i)
		if m.have {
			n.tellTaken(s, &m)
		}
		n.match(s, i.value, &m)
		return
	}
	if m.have && ep.stored+m.cost() <= Window {
		m.body = bytes.Clone(body)
		ep.stored += m.cost()
		n.tellTaken(s, &m)
	} else {
		m.body, m.have = nil, false // asked for when there is room, or when it is wanted
	}
	n.queue(ep, m)
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
func (n *Node) tellProbe(s *seat, w waitingRecv, m *message) {
	r := record.Record{Kind: record.Match, Fn: record.RecvProbe, Comm: w.comm, Seq: w.seq, Src: record.Any, Dst: s.rank, Off: record.Any}
	if m != nil {
		r.Src, r.Off, r.Size, r.Count = m.rank, m.tag, m.size, 1
	}
	n.tell(s.ep, &r)
}

// tellTaken tells the sender that its message needs nothing more of it.
func (n *Node) tellTaken(s *seat, m *message) {
	n.send(&record.Record{Kind: record.Taken, Comm: m.comm, Seq: m.seq, Src: s.number, Dst: m.src, Count: 1})
}

// match brings a Recv and a message together.
func (n *Node) match(s *seat, w waitingRecv, m *message) {
	if m.size > w.max {
		n.tell(s.ep, &record.Record{Kind: record.Fail, Fn: record.FailRecv, Comm: w.comm, Seq: w.seq, Src: m.rank, Off: m.tag, Size: m.size,
			Count: int(record.CauseTruncated), Body: fmt.Appendf(nil, "a message of %d bytes from member %d; there is room for %d", m.size, m.rank, w.max)})
		if !m.have {
			n.tellTaken(s, m)
		}
		return
	}
	n.tell(s.ep, &record.Record{Kind: record.Match, Comm: w.comm, Seq: w.seq, Src: m.rank, Dst: s.rank, Count: 1, Off: m.tag, Size: m.size, Body: m.body})
	if m.have {
		return
	}
	if m.size == 0 { // nothing of it is still to come
		n.tellTaken(s, m)
		return
	}
	f := &flow{source: m.source, to: w.seq, from: m.rank, number: s.number, tag: m.tag, size: m.size, left: m.size}
	s.ep.flows[m.source] = f
	if m.coming { // all of it was asked for
		f.runs, f.asked, f.due = true, m.size, m.size
		s.ep.due += f.due
		return
	}
	s.ep.later = append(s.ep.later, f)
	n.runFlows(s.ep)
}

// runFlows has messages ask for data that did not yet, as far as there is room.
func (n *Node) runFlows(ep *endpointState) {
	for len(ep.later) > 0 && ep.trials < mostTrials {
		f := ep.later[0]
		ep.later[0] = nil
		ep.later = ep.later[1:]
		if ep.flows[f.source] == f {
			f.runs = true
			n.askMessage(ep, f)
		}
	}
}

// endFlow forgets a message on its way.
func (n *Node) endFlow(ep *endpointState, f *flow) {
	delete(ep.flows, f.source)
	ep.came(f, f.due)
	n.runFlows(ep)
}

// came counts bytes of a message that are asked for no more.
func (ep *endpointState) came(f *flow, size int64) {
	if f.due -= size; f.trial {
		f.trial = f.due > 0
		ep.trials -= size
		return
	}
	ep.due -= size
}

// askMessage asks for as much of a message as its receiver has room for. Of one of many
// it asks for little at first: senders that compute answer much later.
func (n *Node) askMessage(ep *endpointState, f *flow) {
	if !f.runs || f.trial {
		return
	}
	ask := func(size int64) {
		n.send(&record.Record{Kind: record.SendPull, Comm: f.comm, Seq: f.seq, Src: f.number, Dst: f.src, Count: 1, Off: f.asked, Size: size})
		f.asked += size
		f.due += size
	}
	if f.asked == 0 && len(ep.flows) > fewFlows {
		size := min(firstPiece, f.size)
		f.trial = true
		ep.trials += size
		ask(size)
		return
	}
	for f.asked < f.size && f.due+int64(ep.backlog) < Window && ep.due < mostDue {
		size := min(record.Chunk, f.size-f.asked)
		ep.due += size
		ask(size)
	}
}

// messageData takes a piece.
func (n *Node) messageData(s *seat, r *record.Record) {
	key := source{r.Comm, r.Src, r.Seq}
	f := s.ep.flows[key]
	size := int64(len(r.Body))
	if i := s.ep.coming[key]; i != nil && size == i.value.size {
		n.fetched(s, i, r.Body)
		return
	}
	if f == nil || size > f.due {
		return // of a message that failed
	}
	if s.ep.due >= mostDue {
		defer n.askMore(s.ep)
	}
	s.ep.came(f, size)
	f.left -= size
	out := *r
	out.Seq, out.Src, out.Dst = f.to, f.from, s.rank
	n.tell(s.ep, &out)
	if f.left == 0 {
		n.endFlow(s.ep, f)
		n.tellTaken(s, &message{source: key})
		return
	}
	n.askMessage(s.ep, f)
}

// askMore asks for messages that there was no room for.
func (n *Node) askMore(ep *endpointState) {
	for _, f := range ep.flows {
		n.askMessage(ep, f)
	}
	n.runFlows(ep)
}

// receive takes a Recv of an endpoint.
func (n *Node) receive(ep *endpointState, r *record.Record) error {
	s := ep.seats[r.Comm]
	switch {
	case r.Fn == record.RecvRefuse && (r.Off <= record.MaxTag || r.Size < 1):
		return fmt.Errorf("%d messages from tag %d on are refused, which are not the library's", r.Size, r.Off)
	case r.Fn == record.RecvRefuse:
		n.refuse(s, tags{r.Off, r.Off + r.Size})
		return nil
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
	w := waitingRecv{comm: r.Comm, seq: r.Seq, src: r.Src, tag: r.Off, max: r.Size, probe: r.Fn != record.RecvTake}
	if r.Fn == record.RecvLeft {
		ep.leavers = append(ep.leavers, w)
		n.watch(s, record.Any)
		n.tellLeavers(s.comm)
		return nil
	}
	if s.withheld {
		defer func() { n.tellLeaver(s, n.goneFrom(s.comm)) }() // it may have taken the last of what somebody had sent
	}
	why := n.whyHopeless(s.comm, r.Src, r.Off)
	if i := ep.unexpected.find(func(m *message) bool { return w.takes(m) && (m.have || why.text == "") }); i != nil {
		if w.probe {
			n.tellProbe(s, w, &i.value)
			return nil
		}
		n.unqueue(ep, i)
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
	n.tellKept(ep)
	n.watch(s, w.src)
	return nil
}

package collective

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// request handles a record of a local endpoint.
func (n *Node) request(in *input, r *record.Record, raw []byte) (ok bool, err error) {
	ep := in.ep
	switch r.Kind {
	case record.Create:
		return true, n.create(ep, r)
	case record.Free:
		return true, n.freeRequest(ep, r)
	case record.Enter, record.Up, record.Recv, record.Data, record.Send, record.SendData, record.Ask:
	default:
		return false, fmt.Errorf("an unexpected record of kind %d", r.Kind)
	}
	s := ep.seats[r.Comm]
	switch {
	case s == nil && n.existed(r.Comm):
		n.tooLate(ep, r)
		return true, nil
	case s == nil:
		return false, fmt.Errorf("%s is no member of communicator %d", n.endpointName(ep.id), r.Comm)
	}
	switch r.Kind {
	case record.Enter:
		return n.enter(in, s, r)
	case record.Up:
		return true, n.endpointUp(ep, r)
	case record.Recv:
		return true, n.receive(ep, r)
	}
	switch {
	case r.Src != s.rank:
		return false, fmt.Errorf("%s is not member %d of communicator %d", n.endpointName(ep.id), r.Src, r.Comm)
	case len(r.Body) > record.Chunk:
		return false, fmt.Errorf("%d bytes at once; %d are allowed", len(r.Body), record.Chunk)
	case r.Kind == record.Data:
		return n.dataRequest(in, s, r, raw)
	case r.Kind == record.Send:
		return n.sendRequest(in, s, r, raw)
	case r.Kind == record.SendData:
		return n.sendDataRequest(in, s, r, raw)
	}
	return n.askRequest(in, s, r, raw)
}

// tooLate answers an endpoint's record about a communicator that was freed. Data that
// it had promised to give are dropped: their operation has failed.
func (n *Node) tooLate(ep *endpointState, r *record.Record) {
	switch r.Kind {
	case record.Enter:
		n.failed(ep, record.FailOp, r.Comm, r.Seq, wasFreed)
	case record.Send:
		n.failed(ep, record.FailSend, r.Comm, r.Seq, wasFreed)
	case record.Recv:
		n.failed(ep, record.FailRecv, r.Comm, r.Seq, wasFreed)
	case record.Ask:
		n.failed(ep, record.FailAsk, r.Comm, r.Seq, wasFreed)
	}
}

// dataRequest takes data of an endpoint for others.
func (n *Node) dataRequest(in *input, s *seat, r *record.Record, raw []byte) (ok bool, err error) {
	if s.comm.dead(r.Seq) {
		return true, nil
	}
	o := s.comm.ops[r.Seq]
	if o == nil || o.members[s.at] == nil || len(o.members[s.at].due) == 0 || r.Op != o.call.op || r.Size != o.call.size {
		return false, fmt.Errorf("%d bytes for operation %d, which needs none", len(r.Body), r.Seq)
	}
	m, size := o.members[s.at], int64(len(r.Body))
	got, want := share{each: r.Each, dst: r.Dst, count: r.Count, off: r.Off, size: size}, m.due[0]
	if got != want.share {
		return false, fmt.Errorf("%d bytes at %d to %d+%d for operation %d, %v; %d bytes at %d to %d+%d are due",
			size, r.Off, r.Dst, r.Count, r.Seq, r.Op, want.size, want.off, want.dst, want.count)
	}
	if s.comm.dir != nil {
		if r, ok = n.renumber(s.comm, r, want.to); !ok {
			return false, nil
		}
		raw = record.Append(nil, r)
	}
	if ok, err = n.pass(in, r, raw); ok {
		m.due = m.due[1:]
		m.owes -= size
		n.settle(m)
		n.settleOp(o)
	}
	return ok, err
}

// renumber puts data of an endpoint in terms of numbers, those for each member in
// their order. It waits until these are known.
func (n *Node) renumber(c *comm, r *record.Record, to int) (out *record.Record, ok bool) {
	x := *r
	x.Dst = to
	if r.Each {
		numbers, ok := n.allNumbers(c)
		if !ok {
			return nil, false
		}
		x.Body = make([]byte, len(r.Body))
		size := len(r.Body) / c.size
		for rank, number := range numbers {
			copy(x.Body[int(number)*size:], r.Body[rank*size:(rank+1)*size])
		}
	}
	return &x, true
}

// sendRequest takes a Send of an endpoint.
func (n *Node) sendRequest(in *input, s *seat, r *record.Record, raw []byte) (ok bool, err error) {
	ep := s.ep
	_, twice := ep.sends[r.Seq]
	switch {
	case r.Count != 1 || r.Dst >= s.comm.size || r.Off < 0:
		return false, fmt.Errorf("a message with tag %d to member %d of %d", r.Off, r.Dst, s.comm.size)
	case twice || ep.fresh >= record.MaxRequests || len(ep.sends) >= record.MaxWaiting:
		return false, fmt.Errorf("more than %d messages at a time, or number %d twice", record.MaxRequests, r.Seq)
	case (r.Size > record.Chunk && len(r.Body) > 0) || (r.Size <= record.Chunk && int64(len(r.Body)) != r.Size):
		return false, fmt.Errorf("a message of %d bytes with %d of them", r.Size, len(r.Body))
	}
	if why := n.whyHopeless(s.comm, r.Dst, r.Off); why.text != "" {
		n.failed(ep, record.FailSend, r.Comm, r.Seq, why)
		return true, nil
	}
	number, ok := n.numberFor(in, s.comm, r.Dst)
	if !ok {
		return false, nil
	}
	ep.sends[r.Seq] = sent{comm: r.Comm, dst: number, rank: r.Dst, tag: r.Off} // before route, which may deliver it
	ep.fresh++
	if s.comm.dir != nil {
		x := *r
		x.Src, x.Dst, x.Body = s.number, number, s.appendRank(slices.Clip(r.Body))
		r, raw = &x, record.Append(nil, &x)
	}
	if ok, err = n.route(in, r, raw); !ok {
		ep.forgetSend(r.Seq)
	}
	return ok, err
}

// sendDataRequest takes a piece of a long message: the next of those asked for.
func (n *Node) sendDataRequest(in *input, s *seat, r *record.Record, raw []byte) (ok bool, err error) {
	ep, size := s.ep, int64(len(r.Body))
	x, under := ep.sends[r.Seq]
	switch {
	case !under || x.comm != r.Comm:
		return true, nil // it has failed
	case r.Count != 1 || r.Dst != x.rank || r.Off != x.given || size == 0 || size > x.asked-x.given:
		return false, fmt.Errorf("%d bytes at %d to %d+%d of message %d; %d bytes at %d to %d are due",
			size, r.Off, r.Dst, r.Count, r.Seq, x.asked-x.given, x.given, x.rank)
	}
	if s.comm.dir != nil {
		y := *r
		y.Src, y.Dst = s.number, x.dst
		r, raw = &y, record.Append(nil, &y)
	}
	if ok, err = n.route(in, r, raw); ok {
		if x, under = ep.sends[r.Seq]; under {
			x.given += size
			ep.sends[r.Seq] = x
		}
	}
	return ok, err
}

package member

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/tree/record"
)

// window holds requests of one kind of a session: as many under way as the agent
// takes, the others behind them.
type window struct {
	most      int
	mostFresh int // of those that no Kept has told of; 0: there is none of this kind
	fresh     int
	live      map[uint64]*Request
	queue     []*Request
	issue     func(*Request)
}

func (w *window) add(q *Request) {
	w.queue = append(w.queue, q)
	w.goOn()
}

func (w *window) goOn() {
	for len(w.queue) > 0 && len(w.live) < w.most && (w.mostFresh == 0 || w.fresh < w.mostFresh) {
		q := w.queue[0]
		w.queue = w.queue[1:]
		w.fresh++
		if w.live == nil {
			w.live = map[uint64]*Request{}
		}
		w.live[q.seq] = q
		w.issue(q)
	}
}

func (w *window) end(seq uint64, err error) {
	if q := w.live[seq]; q != nil {
		delete(w.live, seq)
		if !q.kept {
			w.fresh--
		}
		w.goOn()
		q.finish(err)
	}
}

// keep notes that a message waits at its receiver's agent, which makes room for another.
func (w *window) keep(seq uint64) {
	if q := w.live[seq]; q != nil && !q.kept {
		q.kept = true
		w.fresh--
		w.goOn()
	}
}

func (w *window) fail(err error) {
	for _, q := range w.live {
		q.finish(err)
	}
	for _, q := range w.queue {
		q.finish(err)
	}
	w.live, w.queue = nil, nil
}

// Send sends data to member dst, with a tag of 0 to record.MaxTag. It is done when
// the other side has it, or has room for it.
func (c *Comm) Send(dst int, tag int64, data []byte) *Request {
	if err := tagError(tag); err != nil {
		return refused("%w", err)
	}
	return c.SendLibrary(dst, tag, data)
}

// SendLibrary is Send with any tag. Operations built of messages have tags above
// record.MaxTag, and go on where the program gave the communicator up.
func (c *Comm) SendLibrary(dst int, tag int64, data []byte) *Request {
	q := &Request{comm: c, root: dst, tag: tag, send: data, size: int64(len(data))}
	if err := cmp.Or(c.checkFor(dst, tag), c.session.err); err != nil {
		q.finish(err)
		return q
	}
	c.session.number++
	q.seq = c.session.number
	q.countOpen()
	c.session.sends.add(q)
	return q
}

// Recv gets a message of member src, or record.Any, with a tag, or record.Any,
// into buf.
func (c *Comm) Recv(src int, tag int64, buf []byte) *Request {
	return c.takeFor(&Request{src: src, tag: tag, recv: buf})
}

// RecvAll is Recv of a message however long; memory is taken as it comes.
func (c *Comm) RecvAll(src int, tag int64) *Request {
	return c.takeFor(&Request{src: src, tag: tag, grows: true})
}

// Received returns the message that a RecvAll got.
func (r *Request) Received() []byte { return r.recv }

// Probe waits until there is a message for a Recv of src and tag, or, if look is true,
// asks whether there is one. The message stays.
func (c *Comm) Probe(src int, tag int64, look bool) *Request {
	if !c.session.prober {
		return refused("this golaunch is older than probes")
	}
	q := &Request{src: src, tag: tag, sort: record.RecvProbe}
	if look {
		q.sort = record.RecvLook
	}
	return c.takeFor(q)
}

// Found tells whether a Probe found a message.
func (r *Request) Found() bool { return r.found }

// RecvLibrary is Recv of a message of SendLibrary.
func (c *Comm) RecvLibrary(src int, tag int64, buf []byte) *Request {
	return c.take(&Request{src: src, tag: tag, recv: buf})
}

// RecvAllLibrary is RecvAll of such a message.
func (c *Comm) RecvAllLibrary(src int, tag int64) *Request {
	return c.take(&Request{src: src, tag: tag, grows: true})
}

// Partial tells whether an operation that failed so may have been carried out for some:
// where a member leaves while others have several under way, those that it had done its
// part of succeed for members that had the result before the news.
func Partial(err error) bool {
	f, is := errors.AsType[*Failure](err)
	return is && f.Cause == record.CauseLeft
}

// Excuse sends member dst, which may wait for a message of the library of that size, the
// reason why it does not come. That is shorter, by which dst knows it.
func (c *Comm) Excuse(dst int, tag int64, why error, size int64) *Request {
	return c.SendLibrary(dst, tag, excuse(why, size))
}

// excuse returns the reason as a message: the number of the member that has left plus
// one, and the text, as far as there is room.
func excuse(why error, size int64) []byte {
	who := -1
	if f, is := errors.AsType[*Failure](why); is {
		who = f.Member
	}
	text := fmt.Sprintf("%d %s", who+1, why)
	return []byte(text[:min(int64(len(text)), size-1)])
}

// Excused is the reason that came in the place of a message.
func Excused(message []byte) error {
	f := &Failure{Cause: record.CauseLeft, Member: -1, Text: "a member has left"}
	who, text, whole := strings.Cut(string(message), " ")
	if n, err := strconv.Atoi(who); err == nil && whole {
		f.Member = n - 1
	}
	if text != "" {
		f.Text = text
	}
	return f
}

// Refuse has this member take no more messages of a sort of calls, from a tag of
// LibraryTag on: others' messages for the call that ended here, or for later ones,
// which all end, are dropped, and count as taken for them.
func (c *Comm) Refuse(sort Call, tag int64) { c.refuse(tag, beyondScans+int64(sort+1)<<56) }

func (c *Comm) refuse(tag, end int64) {
	if c.session.err == nil && !c.freed {
		c.session.put(&record.Record{Kind: record.Recv, Fn: record.RecvRefuse, Comm: c.id, Src: record.Any, Off: tag, Size: end - tag})
	}
}

// Call is a sort of calls that are built of messages.
type Call int

// The sorts.
const (
	Varying Call = iota
	Shrinking
)

// beyondScans is the first tag of LibraryTag. Below are those of scans.
const beyondScans = 1 << 58

// LibraryTag returns a tag for messages of one call that all members make, in one order
// with others of its sort. 2^20 times any number up to 2^30 may be added to it.
func (c *Comm) LibraryTag(sort Call) int64 {
	c.calls[sort]++
	return beyondScans + int64(sort)<<56 + c.calls[sort]%(1<<20)
}

// takeFor begins a request of the program for a message.
func (c *Comm) takeFor(q *Request) *Request {
	if err := tagError(q.tag); err != nil && q.tag != record.Any {
		return refused("%w", err)
	}
	return c.take(q)
}

func (c *Comm) take(q *Request) *Request {
	q.comm = c
	s := c.session
	if err := cmp.Or(c.checkFor(max(q.src, 0), q.tag), s.err); q.src < record.Any || err != nil {
		q.finish(cmp.Or(err, fmt.Errorf("%w %d of a communicator of %d", ErrMember, q.src, c.size)))
		return q
	}
	s.number++
	q.seq, q.wanted = s.number, wanted{q.src, q.tag}
	q.countOpen()
	if q.sort == record.RecvLook {
		s.looks.add(q)
	} else {
		s.recvs.add(q)
	}
	return q
}

// wanted selects the messages that a Recv takes.
type wanted struct {
	src int
	tag int64
}

// receiveAgain has a Recv of any member go on that had part of a message of one which has
// left. It is behind those that were made since.
func (s *Session) receiveAgain(q *Request) {
	delete(s.recvs.live, q.seq)
	s.recvs.fresh--
	q.src, q.tag, q.got, q.left = q.wanted.src, q.wanted.tag, 0, 0
	if q.grows {
		q.recv = nil
	}
	s.number++
	q.seq = s.number
	s.recvs.add(q)
}

// checkFor is check for a message of a tag.
func (c *Comm) checkFor(member int, tag int64) error {
	if tag > record.MaxTag {
		return c.checkLibrary(member)
	}
	return c.check(member)
}

// tagError reports an error if a program may not use a tag. Larger ones are the
// library's own.
func tagError(tag int64) error {
	if tag < 0 || tag > record.MaxTag {
		return fmt.Errorf("tag %d, which is not in 0 to %d", tag, record.MaxTag)
	}
	return nil
}

// Left ends, with a Failure, when members have left that no other has told of. It goes on
// where the program gave the communicator up, and keeps nobody from freeing it.
func (c *Comm) Left() *Request {
	s := c.session
	if !s.hears {
		return refused("this golaunch is older than waits for members to leave")
	}
	q := &Request{comm: c, src: record.Any, sort: record.RecvLeft}
	if err := cmp.Or(c.checkLibrary(0), s.err); err != nil {
		q.finish(err)
		return q
	}
	s.number++
	q.seq = s.number
	s.leavers.add(q)
	return q
}

// Forget drops a request that nobody waits for, and whose outcome nobody has seen: the
// finding of a Left is news to the next one.
func (r *Request) Forget() {
	r.unread = true
	if f, is := errors.AsType[*Failure](r.err); is && r.sort == record.RecvLeft {
		for _, member := range f.All {
			delete(r.comm.gone, member)
		}
	}
}

func (s *Session) issueLeft(q *Request) {
	s.put(&record.Record{Kind: record.Recv, Fn: record.RecvLeft, Comm: q.comm.id, Seq: q.seq, Src: record.Any, Off: record.Any, Size: int64(len(q.comm.gone))})
}

// takeLeft takes the answer to a Left: all members that have left.
func (s *Session) takeLeft(q *Request, r *record.Record) error {
	c := q.comm
	list, err := record.ParseRuns(r.Body, c.size)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(member int) bool { return c.gone[member] })
	switch {
	case q.unread:
		list = nil
	case len(list) == 0: // another was faster
		delete(s.leavers.live, r.Seq)
		s.leavers.fresh--
		s.leavers.add(q)
		return nil
	case c.gone == nil:
		c.gone = map[int]bool{}
	}
	for _, member := range list {
		c.gone[member] = true
	}
	who := "member"
	if c.id == 0 {
		who = "rank"
	}
	text := who + " " + record.FoldNumbers(list) + " has left"
	if len(list) > 1 {
		text = who + "s " + record.FoldNumbers(list) + " have left"
	}
	s.leavers.end(r.Seq, &Failure{Cause: record.CauseLeft, Member: -1, All: list, Text: text})
	return nil
}

func (s *Session) issueSend(q *Request) {
	r := record.Record{Kind: record.Send, Comm: q.comm.id, Seq: q.seq, Src: q.comm.rank, Dst: q.root, Count: 1, Off: q.tag, Size: q.size}
	if q.size <= record.Chunk {
		r.Body = q.send
	}
	s.put(&r)
}

func (s *Session) issueRecv(q *Request) {
	size := int64(len(q.recv))
	if q.grows {
		size = 1 << 60
	}
	s.put(&record.Record{Kind: record.Recv, Fn: q.sort, Comm: q.comm.id, Seq: q.seq, Src: q.src, Off: q.tag, Size: size})
}

// takeMessage takes news of a message.
func (s *Session) takeMessage(r *record.Record) error {
	if r.Kind == record.Kept {
		s.sends.keep(r.Seq)
		return nil
	}
	if r.Kind == record.SendPull || r.Kind == record.Taken {
		q := s.sends.live[r.Seq]
		switch {
		case q == nil:
			return errUnexpected
		case r.Kind == record.Taken:
			s.sends.end(r.Seq, nil)
			return nil
		case r.Off < 0 || r.Size > record.Chunk || r.Off > q.size-r.Size:
			return fmt.Errorf("a wish for %d bytes at %d of %d", r.Size, r.Off, q.size)
		}
		s.put(&record.Record{Kind: record.SendData, Comm: r.Comm, Seq: r.Seq, Src: q.comm.rank, Dst: r.Src, Count: 1, Off: r.Off,
			Body: q.send[r.Off : r.Off+r.Size]})
		return nil
	}
	if q := s.leavers.live[r.Seq]; q != nil && r.Kind == record.Match && r.Fn == record.RecvLeft {
		return s.takeLeft(q, r)
	}
	q := cmp.Or(s.recvs.live[r.Seq], s.looks.live[r.Seq])
	if q == nil || r.Kind == record.Match && (r.Fn == record.RecvProbe) != (q.sort != record.RecvTake) {
		return errUnexpected
	}
	if q.sort != record.RecvTake {
		q.src, q.tag, q.got, q.found = r.Src, r.Off, r.Size, r.Count == 1
		s.recvs.end(r.Seq, nil)
		s.looks.end(r.Seq, nil)
		return nil
	}
	if q.grows {
		return s.grow(q, r)
	}
	if r.Kind == record.Match {
		if r.Size > int64(len(q.recv)) || int64(len(r.Body)) > r.Size {
			return errUnexpected
		}
		q.src, q.tag, q.got, q.left = r.Src, r.Off, r.Size, r.Size
		copy(q.recv, r.Body)
		q.left -= int64(len(r.Body))
	} else {
		if r.Off < 0 || int64(len(r.Body)) > q.left || r.Off > q.got-int64(len(r.Body)) {
			return errUnexpected
		}
		copy(q.recv[r.Off:], r.Body)
		q.left -= int64(len(r.Body))
	}
	if q.left == 0 {
		s.recvs.end(r.Seq, nil)
	}
	return nil
}

// grow takes news of the message of a RecvAll.
func (s *Session) grow(q *Request, r *record.Record) error {
	const atOnce = 1 << 20 // the length that a sender announces is not believed
	if r.Kind == record.Match {
		q.src, q.tag, q.got = r.Src, r.Off, r.Size
		q.recv = make([]byte, 0, min(r.Size, atOnce))
	} else if r.Off != int64(len(q.recv)) {
		return errUnexpected
	}
	if int64(len(r.Body)) > q.got-int64(len(q.recv)) {
		return errUnexpected
	}
	q.recv = append(q.recv, r.Body...)
	if int64(len(q.recv)) == q.got {
		s.recvs.end(r.Seq, nil)
	}
	return nil
}

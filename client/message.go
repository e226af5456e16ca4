package client

import (
	"context"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// Any stands for any source, or any tag, of a message.
const Any = record.Any

// MaxTag is the largest tag of a program's message; 0 is the least.
const MaxTag = record.MaxTag

// Message describes a message that was received, or that waits to be.
type Message struct {
	Source, Tag int
	Size        int // in bytes
}

// StartSend begins a Send.
func StartSend[T Element](c *Comm, dst, tag int, data []T) *Request {
	return c.start("send", func() *member.Request { return c.comm.Send(dst, int64(tag), bytesOf(data)) })
}

// Send sends data to member dst, with a tag of 0 to MaxTag. It returns when the
// other side has it, or has room for it. Messages from one member to another
// with the same tag keep their order.
func Send[T Element](ctx context.Context, c *Comm, dst, tag int, data []T) error {
	return wait(ctx, "send", func() *Request { return StartSend(c, dst, tag, data) })
}

// StartRecv begins a Recv; Request.Message has its outcome.
func StartRecv[T Element](c *Comm, src, tag int, buf []T) *Request {
	r := c.start("recv", func() *member.Request { return c.comm.Recv(src, int64(tag), bytesOf(buf)) })
	r.element = sizeOf[T]()
	return r
}

// Recv gets a message from member src, or Any, with a tag, or Any, into buf. One
// that is too long for buf is lost: ErrTruncated, and the Message says whose it was.
func Recv[T Element](ctx context.Context, c *Comm, src, tag int, buf []T) (Message, error) {
	if err := notBegun(ctx, "recv"); err != nil {
		return Message{}, err
	}
	return StartRecv(c, src, tag, buf).Message(ctx)
}

// RecvAlloc is Recv of a message however long, in memory of its own.
func RecvAlloc[T Element](ctx context.Context, c *Comm, src, tag int) ([]T, Message, error) {
	if err := notBegun(ctx, "recv"); err != nil {
		return nil, Message{}, err
	}
	r := c.start("recv", func() *member.Request { return c.comm.RecvAll(src, int64(tag)) })
	r.element = sizeOf[T]()
	m, err := r.Message(ctx)
	if err != nil {
		return nil, m, err
	}
	got := r.req.Received()
	data := make([]T, len(got)/r.element)
	copy(bytesOf(data), got)
	return data, m, nil
}

// StartLeft begins a wait for members of c to leave: its outcome is a LeftError, whose
// Ranks are all that have left and that no such wait has told of, each once. Begun
// again, it waits for the next. With WaitAny a rank that receives from Any so hears of
// members that will send nothing more; their messages come before: it is told of a
// member when this rank has received them, or waits in a Recv that takes none. Ranks is
// empty where departures are not known any more: a node was lost, and a Split made c.
// To give the wait up does no harm, and Free does not wait for it.
func (c *Comm) StartLeft() *Request {
	if c == nil {
		return refused(noComm("left"))
	}
	return c.client.start("left", func() *member.Request { return c.comm.Left() })
}

// Probe waits until there is a message from member src, or Any, with a tag, or Any, and
// describes it. The message stays; where several goroutines receive, another may take it.
func (c *Comm) Probe(ctx context.Context, src, tag int) (Message, error) {
	if err := notBegun(ctx, "probe"); err != nil {
		return Message{}, err
	}
	return c.start("probe", func() *member.Request { return c.comm.Probe(src, int64(tag), false) }).Message(ctx)
}

// TryProbe asks whether there is such a message now: one that a Send has brought to this
// rank's node.
func (c *Comm) TryProbe(ctx context.Context, src, tag int) (m Message, found bool, err error) {
	if err := notBegun(ctx, "probe"); err != nil {
		return Message{}, false, err
	}
	r := c.start("probe", func() *member.Request { return c.comm.Probe(src, int64(tag), true) })
	if m, err = r.Message(ctx); err != nil || !r.req.Found() {
		return Message{}, false, err
	}
	return m, true, nil
}

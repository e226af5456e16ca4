package client

import (
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// Type is the type of the elements that a reduction combines, little-endian.
type Type uint8

// The types.
const (
	Int32   = Type(record.Int32)
	Int64   = Type(record.Int64)
	Uint64  = Type(record.Uint64)
	Float32 = Type(record.Float32)
	Float64 = Type(record.Float64)
	Uint8   = Type(record.Uint8)
)

// Func combines two elements.
type Func uint8

// The functions. And, Or and Xor are bitwise, and not for floats.
const (
	Sum  = Func(record.Sum)
	Prod = Func(record.Prod)
	Min  = Func(record.Min)
	Max  = Func(record.Max)
	And  = Func(record.And)
	Or   = Func(record.Or)
	Xor  = Func(record.Xor)
)

// Any stands for any source, or any tag, of a message.
const Any = record.Any

// Comm is a communicator: ranks, numbered from 0.
type Comm struct {
	client *Client
	comm   *member.Comm
}

// Rank is this rank's number in c.
func (c *Comm) Rank() int { return c.comm.Rank() }

// Size is the number of members of c.
func (c *Comm) Size() int { return c.comm.Size() }

// StartBarrier begins a Barrier.
func (c *Comm) StartBarrier() *Request { return c.client.start(c.comm.Barrier) }

// Barrier returns when every member has called it.
func (c *Comm) Barrier() error { return c.StartBarrier().Wait() }

// StartBcast begins a Bcast.
func (c *Comm) StartBcast(root int, buf []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.Bcast(root, buf) })
}

// Bcast brings root's buf to everyone's, which is as long.
func (c *Comm) Bcast(root int, buf []byte) error { return c.StartBcast(root, buf).Wait() }

// StartGather begins a Gather.
func (c *Comm) StartGather(root int, send, recv []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.Gather(root, send, recv) })
}

// Gather brings everyone's send, all of one length, to root's recv, in the
// order of members. The others' recv may be nil.
func (c *Comm) Gather(root int, send, recv []byte) error {
	return c.StartGather(root, send, recv).Wait()
}

// StartAllGather begins an AllGather.
func (c *Comm) StartAllGather(send, recv []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.AllGather(send, recv) })
}

// AllGather is Gather with the result everywhere.
func (c *Comm) AllGather(send, recv []byte) error { return c.StartAllGather(send, recv).Wait() }

// StartScatter begins a Scatter.
func (c *Comm) StartScatter(root int, send, recv []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.Scatter(root, send, recv) })
}

// Scatter brings each member its part of root's send, in the order of members.
// The others' send may be nil.
func (c *Comm) Scatter(root int, send, recv []byte) error {
	return c.StartScatter(root, send, recv).Wait()
}

// StartAllToAll begins an AllToAll.
func (c *Comm) StartAllToAll(send, recv []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.AllToAll(send, recv) })
}

// AllToAll brings part i of everyone's send to member i, in the order of
// members. All buffers have one length, a multiple of Size.
func (c *Comm) AllToAll(send, recv []byte) error { return c.StartAllToAll(send, recv).Wait() }

// StartReduce begins a Reduce.
func (c *Comm) StartReduce(root int, t Type, f Func, send, recv []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.Reduce(root, uint8(t)|uint8(f), send, recv) })
}

// Reduce combines everyone's send, element by element, into root's recv, in no
// particular order. The others' recv may be nil.
func (c *Comm) Reduce(root int, t Type, f Func, send, recv []byte) error {
	return c.StartReduce(root, t, f, send, recv).Wait()
}

// StartAllReduce begins an AllReduce.
func (c *Comm) StartAllReduce(t Type, f Func, send, recv []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.AllReduce(uint8(t)|uint8(f), send, recv) })
}

// AllReduce is Reduce with the result everywhere.
func (c *Comm) AllReduce(t Type, f Func, send, recv []byte) error {
	return c.StartAllReduce(t, f, send, recv).Wait()
}

// StartScan begins a Scan.
func (c *Comm) StartScan(t Type, f Func, send, recv []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.Scan(uint8(t)|uint8(f), send, recv) })
}

// Scan combines the send of members 0 to this one into recv.
func (c *Comm) Scan(t Type, f Func, send, recv []byte) error {
	return c.StartScan(t, f, send, recv).Wait()
}

// StartSend begins a Send.
func (c *Comm) StartSend(dst, tag int, data []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.Send(dst, int64(tag), data) })
}

// Send sends data to member dst, with a tag of 0 to 2³¹−1. It returns when the
// other side has it, or has room for it. Messages from one member to another
// with the same tag keep their order.
func (c *Comm) Send(dst, tag int, data []byte) error { return c.StartSend(dst, tag, data).Wait() }

// StartRecv begins a Recv.
func (c *Comm) StartRecv(src, tag int, buf []byte) *Request {
	return c.client.start(func() *member.Request { return c.comm.Recv(src, int64(tag), buf) })
}

// Recv gets a message from member src, or Any, with a tag, or Any, into buf. One
// that is too long for buf is lost, and an error.
func (c *Comm) Recv(src, tag int, buf []byte) (Message, error) {
	return c.StartRecv(src, tag, buf).Message()
}

// StartSplit begins a Split.
func (c *Comm) StartSplit(color, key int) *Request {
	return c.client.start(func() *member.Request { return c.comm.Split(max(color, member.Undefined), key) })
}

// Comm waits as Wait does, and gives the communicator that a Split made: nil for
// a member that wanted none.
func (r *Request) Comm() (*Comm, error) {
	err := r.Wait()
	if made := r.req.Made(); made != nil {
		return &Comm{client: r.client, comm: made}, err
	}
	return nil, err
}

// Split makes a communicator for each color that members name, of the members
// that name it, in the order of their keys, and of their ranks in c where keys
// are equal. A member with a negative color gets none, nil. Colors and keys
// have 32 bits. The agents sort; no process holds a list of the members.
func (c *Comm) Split(color, key int) (*Comm, error) { return c.StartSplit(color, key).Comm() }

// Location is where a member of a communicator is.
type Location struct {
	Rank int // in the world
	Node int
}

// Locate finds a member, wherever it is: its agent knows the members of its own
// node and what was asked lately, and asks the member's agent for others.
func (c *Comm) Locate(rank int) (Location, error) {
	r := c.client.start(func() *member.Request { return c.comm.Locate(rank) })
	err := r.Wait()
	world, node := r.req.Location()
	return Location{Rank: world, Node: node}, err
}

// Free gives a communicator up that Sub or Split made. All members call it, and
// begin nothing more over it. It returns when all have and all that they have
// begun over it is complete; a Recv for which no message comes keeps it from that.
func (c *Comm) Free() error { return c.client.start(c.comm.Free).Wait() }

package pmgr

import (
	"encoding/binary"
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
)

// Version is that of the protocol.
const Version = 8

// MaxBytes bounds the memory that one operation may take on a node, by its sizes.
const MaxBytes = 256 << 20

// maxText is the longest message of an abort.
const maxText = 4 << 10

// op is an operation of the protocol.
type op int32

const (
	opOpen op = iota
	opClose
	opAbort
	opBarrier
	opBcast
	opGather
	opScatter
	opAllGather
	opAllToAll

	opNone op = 15 // a rank of the node ended and will never call
)

// call holds the properties of an operation that all ranks must agree on. size is in
// bytes, of each rank.
type call struct {
	op         op
	root, size int32
}

// String returns the call as a message has it: "a gather of 6 bytes to rank 0".
func (c call) String() string {
	switch c.op {
	case opClose:
		return "CLOSE"
	case opBarrier:
		return "a barrier"
	case opBcast:
		return fmt.Sprintf("a bcast of %d bytes from rank %d", c.size, c.root)
	case opGather:
		return fmt.Sprintf("a gather of %d bytes to rank %d", c.size, c.root)
	case opScatter:
		return fmt.Sprintf("a scatter of %d bytes from rank %d", c.size, c.root)
	case opAllGather:
		return fmt.Sprintf("an allgather of %d bytes", c.size)
	case opAllToAll:
		return fmt.Sprintf("an alltoall of %d bytes", c.size)
	}
	return fmt.Sprintf("operation %d", int32(c.op))
}

// word packs a call, so that two differ exactly if their words do.
func (c call) word() uint64 { return uint64(c.op)<<60 | uint64(c.root)<<32 | uint64(c.size) }

// maxRanks is the number of ranks that a word has room for.
const maxRanks = 1 << 28

func unpack(w uint64) call {
	return call{op(w >> 60), int32(w >> 32 & (maxRanks - 1)), int32(uint32(w))}
}

// packet is a rank's message for one operation.
type packet struct {
	call
	head int // bytes before the data
	data int // bytes of data
}

// number reads the i-th int of b.
func number(b []byte, i int) int32 { return int32(binary.NativeEndian.Uint32(b[4*i:])) }

// packet reads the head of the packet that b begins with; head is 0 where more
// must come first.
func (s *Server) packet(rank job.Rank, b []byte) (p packet, err error) {
	if len(b) < 4 {
		return p, nil
	}
	p.op = op(number(b, 0))
	var ints int
	switch p.op {
	case opClose, opBarrier:
		ints = 1
	case opOpen, opAbort, opAllGather, opAllToAll:
		ints = 2
	case opBcast, opGather, opScatter:
		ints = 3
	default:
		return p, fmt.Errorf("operation %d does not exist", int32(p.op))
	}
	if len(b) < 4*ints {
		return p, nil
	}
	switch {
	case p.op == opOpen || p.op == opAbort:
		p.size = number(b, 1)
	case ints == 2:
		p.size = number(b, 1)
	case ints == 3:
		p.root, p.size = number(b, 1), number(b, 2)
	}
	if p.head = 4 * ints; p.op <= opAbort {
		return p, nil
	}
	if p.root < 0 || int(p.root) >= s.size {
		return p, fmt.Errorf("%v, among %d ranks", p.call, s.size)
	}
	if each := s.each(p.op); p.size < 0 || int64(p.size) > MaxBytes/each {
		return p, fmt.Errorf("%v; with %d ranks, %d on a node, at most %d are taken", p.call, s.size, s.most, MaxBytes/each)
	}
	switch p.op {
	case opBcast:
		if p.root == int32(rank) {
			p.data = int(p.size)
		}
	case opGather, opAllGather:
		p.data = int(p.size)
	case opScatter:
		if p.root == int32(rank) {
			p.data = s.size * int(p.size)
		}
	case opAllToAll:
		p.data = s.size * int(p.size)
	}
	return p, nil
}

// each returns the bytes that an operation takes on a node, in units of its size.
func (s *Server) each(o op) int64 {
	nodes, most := int64(len(s.world.Nodes)), int64(s.most)
	switch o {
	case opBcast:
		return most
	case opGather, opScatter:
		return nodes * most
	case opAllGather, opAllToAll:
		return nodes * most * most
	}
	return 1
}

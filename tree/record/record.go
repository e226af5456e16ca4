// Package record is the wire form of the tree's collective operations: the records that
// ranks, agents and the links between agents exchange (docs/client.md). Parsing takes
// bytes from outside; accepted records are well formed, but not yet sensible: that is
// for the reader to check.
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is that of the protocol between a rank and its agent. An agent
// refuses a rank of another version.
const Version = 3

// Sizes of the protocol, in bytes.
const (
	Chunk   = 64 << 10     // largest piece of an operation's data in one record, and largest eager message
	MaxBody = 192 << 10    // largest body of any record
	MaxSize = MaxBody + 96 // largest record, with its header
)

// SyncEvery is the number of operations of a communicator that share one barrier: those
// whose number is SyncEvery-1, modulo SyncEvery, must be barriers. This bounds how far
// members run ahead of each other, and so the memory for messages to members that are
// behind.
const SyncEvery = 16

// MaxRequests bounds the requests of a sort that an endpoint may have under way at a
// time: look-ups, schedules, the making of communicators, and Sends that no Kept has
// told of.
const MaxRequests = 16

// MaxWaiting bounds the Sends, Recvs and waits for members to leave that an endpoint
// may have under way at a time, and the messages that nobody has asked for whose heads
// its agent keeps beside their senders. A Welcome has it, in Off; 0 there means
// MaxRequests.
const MaxWaiting = 1 << 15

// Keeps as Off of a Hello says that the rank takes Kept.
const Keeps = 1

// Limits of the bulletin board, in bytes.
const (
	MaxKey   = 64
	MaxValue = 1024
)

// Any as Src of a Recv means any member, and as Off any tag.
const Any = -1

// Schedules as Fn of a Welcome says that the agent takes Schedule.
const Schedules = 1

// Probes as Seq of a Welcome says that the agent takes probes, and the functions MinLoc
// and MaxLoc.
const Probes = 1

// Leavers as Comm of a Welcome says that the agent takes RecvLeft.
const Leavers = 1

// Actions of a Recv, as its Fn.
const (
	RecvTake   uint8 = iota
	RecvProbe        // its answer tells of the message, when there is one, and leaves it
	RecvLook         // the same at once: a Match of Count 0 where there is none
	RecvLeft         // its answer names the members that have left, in Body, once they are more than Size
	RecvRefuse       // no Recv: the rank takes no messages of Size tags from Off on, which are for a call of the library that it ended; no answer
)

// Cause is the kind of a failure: Count of a Fail, and Fn of a Lost that breaks a
// communicator.
type Cause uint8

// The causes.
const (
	CauseOther     Cause = iota
	CauseLeft            // member Src (-1: not known; of a Create and of the board: rank Src) has left or is lost
	CauseMismatch        // members disagree about an operation
	CauseTruncated       // a message is longer than its receiver has room for
	CauseFreed           // the communicator was freed
)

// Limits of schedules: bytes of an algorithm's name, of the operation's data, and
// stages.
const (
	MaxAlgorithm     = 64
	MaxScheduleBytes = 1 << 40
	MaxStages        = 1 << 18
)

// MaxTag is the largest tag of a message that a Recv of any tag takes. Larger ones are
// for operations that libraries build of messages.
const MaxTag = 1<<31 - 1

// Kind is the kind of a record.
type Kind uint8

// Kinds of records. Numbers are stable.
const (
	Credit   Kind = 1 + iota // link: Size bytes have left the receiver's buffers
	Enter                    // rank to agent: begins operation Seq: Op, Fn, Dst the root, Size
	Data                     // bytes of an operation, from Src to Count members from Dst on
	Pull                     // Src asks Count members from Dst on for Size bytes at Off; Body as package collective wants it
	Up                       // a contribution to a combining operation, toward the root of the tree
	Grant                    // link, downward: pieces before number Off may be contributed
	Send                     // message Seq of Src to Dst with tag Off, Size bytes; short ones are in Body
	Recv                     // rank to agent: request Seq for a message of Src with tag Off, at most Size bytes; Fn is its RecvTake or another action
	Match                    // agent to rank: message of Src with tag Off, Size bytes, is for Recv Seq
	SendPull                 // Src asks Dst for Size bytes at Off of its message Seq
	SendData                 // those bytes; agent to rank: Seq is the Recv's
	Taken                    // message Seq of Dst was taken
	Create                   // rank to agent: request Seq for a communicator of the members in Body; Off and Size say for which call of theirs: 0, or one of the library's
	Define                   // everyone: the members of communicator Comm, and the call, as Create has it
	Made                     // agent to rank: Create Seq made Comm, of Size members; the rank is number Dst
	Free                     // everyone: communicator Comm is no more
	Lost                     // everyone: the endpoints in Body are lost, or Comm is broken from operation Seq on; with the reason
	Fail                     // agent to rank: the thing that Fn names, number Seq, failed for the reason in Body
	Hello                    // rank to agent, first: Seq the version, Src the rank
	Welcome                  // agent to rank, first: Src the rank, Size ranks, Dst the node, Count nodes; Fn Schedules; in Body how many switch clusters there are at each depth
	Put                      // rank to agent: Size bytes of key at the beginning of Body, then the value
	Get                      // rank to agent: request Seq for the key in Body
	Got                      // agent to rank: answer to Get Seq: Count 1 with the value in Body, 0: none
	Fence                    // rank to agent: request Seq for a fence; agent to rank: it is complete
	Bye                      // rank to agent, last
	Map                      // rank to agent: request Seq for the bulletin board as a file
	Mapped                   // agent to rank: answer to Map Seq: the path in Body, Size bytes, as of fence Off
	Piece                    // agents: Body is a piece of a message of Split Seq, Size bytes in all; Fn says of which. Of the sort: Src is an agent, its process Count, to process Dst
	Ask                      // Src asks where member Dst is, request Seq
	Answer                   // member Src is endpoint Off, on node Size: answer to Ask Seq of Dst
	Left                     // link: the member of rank Off, Src, has left Comm, for the reason in Body
	Watch                    // link: Src is to learn when the Count members from Dst on leave
	InUse                    // everyone: ranks use the service
	Where                    // agents: process Src asks process Dst where Count members from rank Off on are
	There                    // agents: the answer, in Body
	NoFence                  // everyone: no fence of the world from number Seq on will be complete, for the reason in Body: Fn 0 for those who wait over the tree, 1 by PMI, too
	Cluster                  // rank to agent: request Seq for the switch clusters of rank Dst of the world; agent to rank: they are in Body
	Schedule                 // rank to agent: request Seq for the rank's part of the schedule of the algorithm named in Body, of Size bytes; agent to rank: of Size stages, in Body
	Called                   // agents: operation Seq is Op, Fn, Size, its root member Dst, of rank Src, as the members of the ranks in Body call it
	Kept                     // message Seq of Dst waits at its receiver's agent, and is none of MaxRequests any more
	numKinds
)

// Op is a collective operation.
type Op uint8

// The collective operations.
const (
	Barrier Op = 1 + iota
	Bcast
	Gather
	AllGather
	Scatter
	AllToAll
	Reduce
	AllReduce
	Split // members that name one colour become a communicator, in the order of their keys
	numOps
)

var opNames = [...]string{"?", "barrier", "bcast", "gather", "allgather", "scatter", "alltoall", "reduce", "allreduce", "split"}

// String returns the name of the operation.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return opNames[0]
}

// Valid tells whether o is an operation.
func (o Op) Valid() bool { return o >= Barrier && o < numOps }

// Kinds of things that a Fail's Seq numbers, in Fn.
const (
	FailOp uint8 = iota
	FailSend
	FailRecv
	FailCreate
	FailBoard // a Put, Get or Fence
	FailAsk
	FailSchedule
)

// Record is one record. Its kind determines the fields that have a meaning; members are
// counted within Comm.
type Record struct {
	Kind  Kind
	Each  bool // the Count members from Dst on get one part of Body each, not all of it
	Op    Op
	Fn    uint8 // a Fold function
	Comm  uint64
	Seq   uint64
	Src   int
	Dst   int
	Count int
	Off   int64
	Size  int64
	Body  []byte
}

const eachBit = 0x80

// Append appends r's wire form to b: three bytes, kind, op and fn, then Comm,
// Seq, Src+1, Dst, Count, Off+1, Size and the length of Body as unsigned
// varints, then Body.
func Append(b []byte, r *Record) []byte {
	kind := byte(r.Kind)
	if r.Each {
		kind |= eachBit
	}
	b = append(b, kind, byte(r.Op), r.Fn)
	b = binary.AppendUvarint(b, r.Comm)
	b = binary.AppendUvarint(b, r.Seq)
	b = binary.AppendUvarint(b, uint64(r.Src+1))
	b = binary.AppendUvarint(b, uint64(r.Dst))
	b = binary.AppendUvarint(b, uint64(r.Count))
	b = binary.AppendUvarint(b, uint64(r.Off+1))
	b = binary.AppendUvarint(b, uint64(r.Size))
	b = binary.AppendUvarint(b, uint64(len(r.Body)))
	return append(b, r.Body...)
}

var errShort = errors.New("a record is cut short")

// Parse reads the first record of b, whose Body aliases b, and returns how many
// bytes it takes.
func Parse(b []byte, r *Record) (used int, err error) {
	if len(b) < 3 {
		return 0, errShort
	}
	r.Kind, r.Each = Kind(b[0]&^eachBit), b[0]&eachBit != 0
	r.Op, r.Fn = Op(b[1]), b[2]
	if r.Kind == 0 || r.Kind >= numKinds || r.Op >= numOps {
		return 0, fmt.Errorf("a record of unknown kind %d, operation %d", r.Kind, r.Op)
	}
	at := 3
	var v [8]uint64
	for i := range v {
		if at < len(b) && b[at] < 0x80 { // most are short
			v[i] = uint64(b[at])
			at++
			continue
		}
		x, n := binary.Uvarint(b[at:])
		if n <= 0 {
			return 0, errShort
		}
		v[i] = x
		at += n
	}
	const maxMember, maxOff = 1 << 31, 1 << 62
	if v[2] > maxMember || v[3] > maxMember || v[4] > maxMember || v[5] > maxOff || v[6] > maxOff {
		return 0, fmt.Errorf("a record of kind %d has members or sizes out of range", r.Kind)
	}
	if v[7] > MaxBody {
		return 0, fmt.Errorf("a record of kind %d has a body of %d bytes; %d are allowed", r.Kind, v[7], MaxBody)
	}
	if v[7] > uint64(len(b)-at) {
		return 0, errShort
	}
	r.Comm, r.Seq = v[0], v[1]
	r.Src, r.Dst, r.Count = int(v[2])-1, int(v[3]), int(v[4])
	r.Off, r.Size = int64(v[5])-1, int64(v[6])
	end := at + int(v[7])
	r.Body = b[at:end:end]
	return end, nil
}

// AppendFrame appends r as it crosses the socket between a rank and its agent:
// the record's length in four big-endian bytes, then the record.
func AppendFrame(b []byte, r *Record) []byte {
	at := len(b)
	b = Append(append(b, 0, 0, 0, 0), r)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// Frame cuts the first record, not yet parsed, off bytes of such a socket. raw is nil
// where more must come first.
func Frame(b []byte) (raw, rest []byte, err error) {
	if len(b) < 4 {
		return nil, b, nil
	}
	n := binary.BigEndian.Uint32(b)
	if n > MaxSize {
		return nil, nil, fmt.Errorf("a record of %d bytes; %d are allowed", n, MaxSize)
	}
	if uint32(len(b)-4) < n {
		return nil, b, nil
	}
	return b[4 : 4+n : 4+n], b[4+n:], nil
}

// Eager tells whether the data of an operation are sent at once, without being
// asked for, because no member gets more than a Chunk.
func Eager(op Op, members int, size int64) bool {
	switch op {
	case Gather, AllGather, Scatter, AllToAll:
		return size <= Chunk/int64(members)
	}
	return size <= Chunk
}

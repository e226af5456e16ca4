package pmi

import (
	"fmt"

	"github.com/golaunch/golaunch/job"
)

// Op is what a Request asks of the bulletin board.
type Op uint8

// The operations of a Request.
const (
	Put   Op = iota + 1 // publish Value under Key; answer with Server.PutDone
	Get                 // look Key up; answer with Server.GetDone
	Fence               // the rank enters the world's fence; answer with Server.FenceDone
)

// String names an operation.
func (o Op) String() string {
	switch o {
	case Put:
		return "put"
	case Get:
		return "get"
	}
	return "fence"
}

// Request is one operation that Rank waits for. Key and Value alias the bytes
// given to Receive, or the server's buffer: they are valid until the next call
// of Receive, EOF or a Done method for the same rank.
type Request struct {
	Rank  job.Rank
	Op    Op
	Key   []byte // Put and Get
	Value []byte // Put only
}

// Reply is bytes to write to Rank, in order. Data is reused after
// Effects.Reset.
type Reply struct {
	Rank job.Rank
	Data []byte
}

// Abort says that Rank asked for the end of its world. No reply is due, and
// what the rank sends from then on is ignored.
type Abort struct {
	Rank job.Rank
	Code int    // as the client gave it, 1 where it gave none that can be read; may be negative
	Text string // the client's message, may be empty
}

// Violation says that Rank broke the protocol; what it sends from then on is
// ignored. The job cannot go on, as the rank waits for a reply it will not get.
type Violation struct {
	Rank job.Rank
	Line string // the offending line, cut to a readable length; may be empty
	Err  error
}

// Error renders "rank 3: PMI: cause: line", ready to be shown.
func (v Violation) Error() string {
	if v.Line == "" {
		return fmt.Sprintf("rank %d: PMI: %v", v.Rank, v.Err)
	}
	return fmt.Sprintf("rank %d: PMI: %v: %q", v.Rank, v.Err, v.Line)
}

// Unwrap returns the cause.
func (v Violation) Unwrap() error { return v.Err }

// Hangup says that Rank closed its connection between init and finalize.
// Usually it is dying and its exit status tells why; a process that lives on
// without its connection can never take part in a fence again.
type Hangup struct {
	Rank job.Rank
}

// Note is something about Rank that the user should be told, although the
// protocol goes on.
type Note struct {
	Rank job.Rank
	Text string
}

// Effects collects what a Server wants done. Methods only append; the caller
// acts on them and then calls Reset. Requests of one rank never overlap: while
// one waits for its Done call there is no other.
type Effects struct {
	Requests   []Request
	Replies    []Reply
	Aborts     []Abort
	Violations []Violation
	Hangups    []Hangup
	Notes      []Note
}

// Reset empties e and keeps its memory, that of the replies included.
func (e *Effects) Reset() {
	clear(e.Requests) // do not keep input buffers alive
	e.Requests, e.Replies = e.Requests[:0], e.Replies[:0]
	e.Aborts, e.Violations = e.Aborts[:0], e.Violations[:0]
	e.Hangups, e.Notes = e.Hangups[:0], e.Notes[:0]
}

// reply returns the buffer to which a reply to r is appended.
func (e *Effects) reply(r job.Rank) *Reply {
	n := len(e.Replies)
	if n > 0 && e.Replies[n-1].Rank == r {
		return &e.Replies[n-1]
	}
	if n < cap(e.Replies) {
		e.Replies = e.Replies[:n+1]
		e.Replies[n].Rank, e.Replies[n].Data = r, e.Replies[n].Data[:0]
	} else {
		e.Replies = append(e.Replies, Reply{Rank: r})
	}
	return &e.Replies[n]
}

// say appends one reply line to rank r.
func (e *Effects) say(r job.Rank, line string) {
	p := e.reply(r)
	p.Data = append(p.Data, line...)
}

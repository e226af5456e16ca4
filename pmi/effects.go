package pmi

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
)

// Op is the operation of a Request.
type Op uint8

// The operations of a Request: three of the bulletin board, three of the job's
// names, which live at the root, one for the launcher, one of PMI 1.2 and one of
// golaunch's own.
const (
	Put        Op = iota + 1 // publish Value under Key; answer with Server.PutDone
	Get                      // look Key up; answer with Server.GetDone
	Fence                    // the rank enters the world's fence; answer with Server.FenceDone
	Publish                  // publish port Value of service Key; answer with Server.NameDone
	Unpublish                // withdraw service Key; answer with Server.NameDone
	Lookup                   // look the port of service Key up; answer with Server.NameDone
	SpawnWorld               // start what Spawn describes as a new world; answer with Server.SpawnDone
	Group                    // every local member of group Key is in its barrier; answer with Server.GroupDone
	Map                      // make a file of the bulletin board's state; answer with Server.MapDone

	nodeAttr // not of a Request: a client waits for an attribute that another rank is to put
)

var opNames = [...]string{Put: "put", Get: "get", Fence: "fence", Publish: "publish", Unpublish: "unpublish",
	Lookup: "lookup", Group: "group barrier", SpawnWorld: "spawn", Map: "map", nodeAttr: "node attribute"}

// String names an operation.
func (o Op) String() string {
	if int(o) < len(opNames) && o > 0 {
		return opNames[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

// Request is one operation that Rank waits for; for Group, that all local
// members wait for. Key and Value alias the bytes given to Receive, or the
// server's buffer: they are valid until the next call of Receive, EOF or a Done
// method for the same rank.
type Request struct {
	Rank  job.Rank
	Op    Op
	Key   []byte // all but Fence, SpawnWorld and Map
	Value []byte // Put and Publish
	Spawn *Spawn // SpawnWorld only; the receiver's
	// Members of a Group on all nodes, in ascending order; nil means the whole world.
	// Their earlier puts must be visible to each other afterwards. There is no Group
	// unless World.Version is "1.2".
	Members []job.Rank
}

// Reply is bytes to write to Rank, in order. Data is reused after
// Effects.Reset.
type Reply struct {
	Rank job.Rank
	Data []byte
}

// Abort says that Rank asked for the end of its world. No reply is due, and later bytes
// of the rank are ignored.
type Abort struct {
	Rank job.Rank
	Code int    // as the client gave it, 1 where it gave none that can be read; may be negative
	Text string // the client's message, may be empty
}

// Violation reports that Rank broke the protocol; its bytes are ignored from then on.
// The job cannot go on, as the rank waits for a reply it will not get.
type Violation struct {
	Rank job.Rank
	Line string // the offending line or message, cut to a readable length; may be empty
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

// Effects collects a Server's orders. Methods only append; the caller acts on them and
// then calls Reset. Requests of one rank never overlap, with two exceptions that a
// client must ask for by name: a fence may be under way beside another request of a
// rank that uses thrid (PMI-2) or a group barrier (PMI 1.2), and a Group beside any.
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

// say appends one PMI-1 reply line to rank r.
func (e *Effects) say(r job.Rank, line string) {
	p := e.reply(r)
	p.Data = append(p.Data, line...)
}

// ask appends a request and lets the client wait for its answer, which is due
// in form d.
func (e *Effects) ask(c *client, op Op, d due, key, value []byte) {
	c.wait, c.due = op, d
	e.Requests = append(e.Requests, Request{Rank: c.rank, Op: op, Key: key, Value: value})
}

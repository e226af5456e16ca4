package pmgr

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree/record"
)

// Conn is the caller's number of a connection.
type Conn int

// Request is an operation among the nodes that hold ranks, numbered as in
// World.Nodes, in the terms of package tree/record. Send and Recv are the
// request's until Done; for a Bcast they are the same.
type Request struct {
	Op         record.Op
	Fn         uint8
	Root       int
	Send, Recv []byte
}

// Reply is bytes to write to a connection. They may be shared with other
// replies and must not be changed.
type Reply struct {
	Conn Conn
	Data []byte
}

// CheckIn names the rank of a connection.
type CheckIn struct {
	Conn Conn
	Rank job.Rank
}

// Abort says that Rank asked for the end of the job. One that is not Sure came from a
// connection of an unknown owner; it may explain why a rank ends.
type Abort struct {
	Rank job.Rank
	Code int
	Text string
	Sure bool
}

// Violation says that Rank broke the protocol: the job cannot go on.
type Violation struct {
	Rank job.Rank
	Err  error
}

// Hangup says that Rank closed its connection before CLOSE, or called CLOSE while
// others call something else. Usually it is dying or aborts, and its exit status or
// another connection tells why; else Server.Vanished is to be called.
type Hangup struct {
	Rank job.Rank
}

// Refusal reports a connection that broke the protocol. It is closed; the job goes on.
type Refusal struct {
	Conn Conn
	Err  error
}

// Effects collects a Server's orders. Methods only append; the caller acts and then
// calls Reset.
type Effects struct {
	Requests   []Request
	Replies    []Reply
	CheckIns   []CheckIn
	Closes     []Conn // to be closed once what was replied is written
	Aborts     []Abort
	Violations []Violation
	Hangups    []Hangup
	Refusals   []Refusal
	Resumed    bool // connections that were not to be read may be now
}

// Reset empties e and keeps its memory.
func (e *Effects) Reset() {
	clear(e.Requests)
	clear(e.Replies)
	*e = Effects{Requests: e.Requests[:0], Replies: e.Replies[:0], CheckIns: e.CheckIns[:0], Closes: e.Closes[:0],
		Aborts: e.Aborts[:0], Violations: e.Violations[:0], Hangups: e.Hangups[:0], Refusals: e.Refusals[:0]}
}

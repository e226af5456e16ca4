package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// Errors that calls return, mostly with more text: use errors.Is.
var (
	// ErrNotLaunched is Open's in a process that golaunch did not start.
	ErrNotLaunched = errors.New("not a rank of a golaunch job")
	// ErrClosed is the outcome of calls after Close, and of those under way then.
	ErrClosed = errors.New("the connection was closed")
	// ErrFreed is the outcome of calls over a communicator that was freed.
	ErrFreed = member.ErrFreed
	// ErrTruncated is a Recv's whose message was longer than its buffer. The message is lost.
	ErrTruncated = errors.New("the message is longer than the buffer")
	// ErrBroken is the outcome of a wait over a communicator that its context ended, and
	// of all later calls of this rank over it, but Shrink. It wraps the context's cause.
	ErrBroken = errors.New("this rank gave the communicator up")
)

// LeftError is the outcome of a call that needs a rank that has left the job's service,
// has ended, or was on a node that is lost. Use errors.As.
type LeftError struct {
	// Ranks lists the members that this call found gone, by their numbers in its
	// communicator (in the world, of Sub); empty where the agent does not know. Others
	// may have left too.
	Ranks []int
	// Text names the first by its rank in the world, and its host; that of StartLeft names
	// all by their numbers in the communicator.
	Text string
}

// Error returns the text.
func (e *LeftError) Error() string { return e.Text }

// MismatchError is the outcome of operations of a communicator whose members disagree
// about one: no operation of it succeeds any more. Use errors.As.
type MismatchError struct {
	// Text names the operation, and the members with their calls.
	Text string
}

// Error returns the text.
func (e *MismatchError) Error() string { return e.Text }

// coded is an agent's text for one of the errors above.
type coded struct {
	text string
	is   error
}

func (e *coded) Error() string { return e.text }
func (e *coded) Unwrap() error { return e.is }

// outcome is an error of a session as programs see it.
func outcome(err error) error {
	var f *member.Failure
	if !errors.As(err, &f) {
		return err
	}
	switch f.Cause {
	case record.CauseLeft:
		e := &LeftError{Text: f.Text}
		if e.Ranks = f.All; f.Member >= 0 {
			e.Ranks = []int{f.Member}
		}
		return e
	case record.CauseMismatch:
		return &MismatchError{f.Text}
	case record.CauseTruncated:
		return &coded{f.Text, ErrTruncated}
	case record.CauseFreed:
		return ErrFreed
	}
	return err
}

// notBegun is the outcome of a call whose context is over before it begins.
func notBegun(ctx context.Context, what string) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%s: nil is no context", what)
	case ctx.Err() == nil:
		return nil
	}
	return fmt.Errorf("%s was not begun: %w", what, context.Cause(ctx))
}

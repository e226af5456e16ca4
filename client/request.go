package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/golaunch/golaunch/tree/member"
)

// Request is an operation under way. Its buffers are the library's until it is done.
type Request struct {
	client  *Client
	req     *member.Request
	what    string
	element int           // bytes that a message's size is a multiple of
	breaks  bool          // to give it up breaks its communicator
	done    chan struct{} // closed when it is complete and said, or was given up
	until   uint64        // the bytes that must be written before it is said
	lost    error         // why they were not
	given   error         // why nobody waits for it any more
}

// refused returns a request that was wrong from the beginning.
func refused(err error) *Request {
	r := &Request{given: err, req: &member.Request{}, done: make(chan struct{})}
	close(r.done)
	return r
}

// start begins something.
func (c *Client) start(what string, begin func() *member.Request) *Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &Request{client: c, req: begin(), what: what, done: make(chan struct{})}
	if done, err := r.req.Done(); done && errors.Is(err, member.ErrMember) {
		r.given = fmt.Errorf("%s: %w", what, err)
	}
	complete := func() {
		r.until = c.session.Said()
		c.unsaid = append(c.unsaid, r)
		c.endWritten()
	}
	if done, _ := r.req.Done(); done {
		complete()
	} else {
		r.req.OnDone = complete
	}
	c.changed.Broadcast()
	return r
}

// call begins something that belongs to no communicator, and waits for it.
func (c *Client) call(ctx context.Context, what string, begin func() *member.Request) (*member.Request, error) {
	if err := notBegun(ctx, what); err != nil {
		return nil, err
	}
	r := c.start(what, begin)
	return r.req, r.Wait(ctx)
}

var errNoRequest = errors.New("nil is no request to wait for")

// Wait returns when the operation is complete, with its outcome. After nil the agent
// has all that others need of this rank for it: the program may end.
//
// Where ctx is done first, Wait returns an error that wraps its cause, the buffers are
// the caller's again, with contents of no meaning, and the operation goes on without
// them, so that other ranks do not wait for it. An operation of a communicator, and a
// message, leaves the communicator broken for this rank: see ErrBroken.
func (r *Request) Wait(ctx context.Context) error {
	if r == nil || r.done == nil {
		return errNoRequest
	}
	if done, err := r.Test(); done {
		return err
	}
	select {
	case <-r.done:
		return r.outcome()
	case <-ctx.Done():
		return r.giveUp(context.Cause(ctx))
	}
}

// Test tells whether the operation is complete, and if so its outcome, as Wait does. It
// does not wait.
func (r *Request) Test() (done bool, err error) {
	if r == nil || r.done == nil {
		return true, errNoRequest
	}
	select {
	case <-r.done:
		return true, r.outcome()
	default:
		return false, nil
	}
}

// outcome is that of a request that is done.
func (r *Request) outcome() error {
	if r.client != nil {
		r.client.mu.Lock()
		defer r.client.mu.Unlock()
	}
	if r.given != nil {
		return r.given
	}
	if _, err := r.req.Done(); err != nil {
		return outcome(err)
	}
	if r.lost != nil {
		return r.lost
	}
	if _, _, size := r.req.Message(); r.element > 1 && size%int64(r.element) != 0 {
		return &coded{fmt.Sprintf("a message of %d bytes is no whole number of elements, of %d bytes each", size, r.element), errHalf}
	}
	return nil
}

// end lets all that wait go on. The caller holds the lock.
func (r *Request) end() {
	select {
	case <-r.done: // it was given up before it was complete
	default:
		close(r.done)
	}
}

// giveUp ends the wait for a request, for all that wait.
func (r *Request) giveUp(cause error) error {
	if done, err := r.Test(); done {
		return err
	}
	c := r.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.given != nil {
		return r.given
	}
	r.given = fmt.Errorf("the wait for %s ended: %w", r.what, cause)
	if r.breaks {
		r.given = fmt.Errorf("%w: %w", ErrBroken, r.given)
		r.req.Abandon(r.given)
	}
	r.req.Forget()
	r.end()
	return r.given
}

// WaitAny waits until one of some requests is complete, and returns its index and its
// outcome. Requests that are nil are passed over, so that a program sets those to nil
// which it has seen; it is an error if all are, or more than 65535 are not. Of several that are complete it is the
// first. Where ctx is done first, the index is -1, and all are given up as by Wait.
func WaitAny(ctx context.Context, requests ...*Request) (int, error) {
	if first := firstDone(requests); first >= 0 {
		return first, requests[first].outcome()
	}
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	var of []int
	for i, r := range requests {
		if r == nil || r.done == nil {
			continue
		}
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(r.done)})
		of = append(of, i)
	}
	const most = 1<<16 - 1 // channels of a reflect.Select, but for that of ctx
	switch {
	case len(of) == 0:
		return -1, errors.New("no request to wait for")
	case len(of) > most:
		return -1, fmt.Errorf("%d requests to wait for; WaitAny takes at most %d", len(of), most)
	}
	chosen, _, _ := reflect.Select(cases)
	if chosen > 0 {
		first := firstDone(requests[:of[chosen-1]+1])
		return first, requests[first].outcome()
	}
	var err error
	for _, i := range of {
		if given := requests[i].giveUp(context.Cause(ctx)); err == nil {
			err = given
		}
	}
	return -1, err
}

// firstDone returns the index of the first request that is complete, or -1. It looks at the
// last one first: requests before one that is complete are looked at after it.
func firstDone(requests []*Request) int {
	first := -1
	for i, r := range slices.Backward(requests) {
		if r == nil || r.done == nil {
			continue
		}
		if done, _ := r.Test(); done {
			first = i
		}
	}
	return first
}

// Message waits as Wait does, and describes the message of a Recv or a Probe; of a Recv
// also whose message it was that did not fit (ErrTruncated), or had half an element.
func (r *Request) Message(ctx context.Context) (Message, error) {
	err := r.Wait(ctx)
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, errHalf) {
		return Message{}, err
	}
	src, tag, size := r.req.Message()
	return Message{Source: src, Tag: int(tag), Size: int(size)}, err
}

// errHalf is the outcome of a Recv whose message is no whole number of elements.
var errHalf = errors.New("half an element")

// Comm waits as Wait does, and gives the communicator that a Split made: nil for
// a member that wanted none.
func (r *Request) Comm(ctx context.Context) (*Comm, error) {
	if err := r.Wait(ctx); err != nil {
		return nil, err
	}
	if made := r.req.Made(); made != nil {
		return &Comm{client: r.client, comm: made}, nil
	}
	return nil, nil
}

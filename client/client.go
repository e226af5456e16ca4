package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/golaunch/golaunch/tree/member"
)

// ErrNotLaunched is returned by Open in a process that golaunch did not start,
// or that is too old for it.
var ErrNotLaunched = errors.New("not a rank of a golaunch job")

// Client is a rank's connection to the tree.
type Client struct {
	conn *os.File

	mu      sync.Mutex
	session *member.Session
	changed sync.Cond // there is something to send, or the end has come
	closing bool
	written uint64     // bytes that the agent has
	unsaid  []*Request // done, but for their bytes among what is not written, in order
	lost    error      // why nothing can be written any more

	tasks sync.WaitGroup
}

// Open connects this rank to the agent of its node. A rank does so once.
func Open() (*Client, error) {
	shared, err := number("GOLAUNCH_FD", "descriptor")
	if err != nil {
		return nil, err
	}
	me, err := number("PMI_RANK", "rank")
	if err != nil {
		return nil, err
	}
	world := 0 // the first, whose ranks are not told
	if _, spawned := os.LookupEnv("GOLAUNCH_WORLD"); spawned {
		if world, err = number("GOLAUNCH_WORLD", "world"); err != nil {
			return nil, err
		}
	}
	session, welcome := member.Open(world, me)
	hello := session.Take()
	conn, err := call(shared, hello)
	if err != nil {
		return nil, fmt.Errorf("golaunch: call the agent: %w", err)
	}
	c := &Client{conn: conn, session: session, written: uint64(len(hello))}
	c.changed.L = &c.mu
	done := make(chan struct{})
	welcome.OnDone = func() { close(done) }
	c.tasks.Go(c.read)  // ends when the connection does
	c.tasks.Go(c.write) // ends with Close
	<-done
	if _, err := welcome.Done(); err != nil {
		c.Close()
		return nil, fmt.Errorf("golaunch: %w", err)
	}
	return c, nil
}

// number is that of an environment variable which golaunch sets.
func number(name, what string) (int, error) {
	text, set := os.LookupEnv(name)
	if !set {
		return 0, fmt.Errorf("golaunch: $%s is not set: %w", name, ErrNotLaunched)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("golaunch: $%s is %q, no %s: %w", name, text, what, ErrNotLaunched)
	}
	return n, nil
}

var errAgentGone = errors.New("the agent has closed the connection")

func (c *Client) read() {
	buf := make([]byte, 256<<10)
	for {
		n, err := c.conn.Read(buf)
		c.mu.Lock()
		if err == nil {
			err = c.session.Receive(buf[:n])
		} else if err == io.EOF || hungUp(err) {
			err = errAgentGone
		}
		if err != nil {
			c.session.Close(err)
		}
		c.changed.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *Client) write() {
	for {
		c.mu.Lock()
		var out []byte
		for {
			out = c.session.Take()
			if len(out) > 0 || c.closing {
				break
			}
			c.changed.Wait()
		}
		c.mu.Unlock()
		if len(out) == 0 {
			c.conn.Close()
			return
		}
		_, err := c.conn.Write(out)
		c.mu.Lock()
		if c.written += uint64(len(out)); err != nil && c.lost == nil {
			if c.lost = err; hungUp(err) {
				c.lost = errAgentGone // reading may say more
			} else {
				c.session.Close(err)
			}
		}
		c.said()
		c.mu.Unlock()
	}
}

// said ends the requests whose bytes are all written, or never will be.
func (c *Client) said() {
	for len(c.unsaid) > 0 && c.unsaid[0].until <= c.written {
		r := c.unsaid[0]
		c.unsaid = c.unsaid[1:]
		r.lost = c.lost
		close(r.done)
	}
}

// hungUp tells of an error that the agent has closed the connection: ECONNRESET,
// where it had not read all, of whichever of reading and writing comes first.
func hungUp(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// Close says goodbye. What is under way is given up; ranks that wait for this
// one get an error that names it.
func (c *Client) Close() error {
	c.mu.Lock()
	if !c.closing {
		c.closing = true
		c.session.Bye()
		c.session.Close(errors.New("the connection was closed"))
		c.changed.Broadcast()
	}
	c.mu.Unlock()
	c.tasks.Wait()
	return nil
}

// Rank is this process's number in the world.
func (c *Client) Rank() int { return c.session.Rank() }

// Size is the number of ranks of the world.
func (c *Client) Size() int { return c.session.Size() }

// Node is the number of the node that this rank runs on, among those with ranks of
// its world.
func (c *Client) Node() int { return c.session.Node() }

// Nodes is the number of nodes with ranks of the world.
func (c *Client) Nodes() int { return c.session.Nodes() }

// World is the communicator of all ranks.
func (c *Client) World() *Comm {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Comm{client: c, comm: c.session.World()}
}

// Request is an operation under way.
type Request struct {
	client *Client
	req    *member.Request
	done   chan struct{}
	until  uint64 // the bytes that must be written before it is done
	lost   error  // why they were not
}

// Wait returns when the operation is complete, with its outcome. After nil the agent
// has all that others need of this rank for it: the program may end.
func (r *Request) Wait() error {
	<-r.done
	if _, err := r.req.Done(); err != nil {
		return err
	}
	return r.lost
}

// Message waits as Wait does, and says of a Recv what it got.
func (r *Request) Message() (Message, error) {
	err := r.Wait()
	src, tag, size := r.req.Message()
	return Message{Source: src, Tag: int(tag), Size: int(size)}, err
}

// Message describes a message that was received.
type Message struct {
	Source, Tag int
	Size        int // in bytes
}

// start begins something.
func (c *Client) start(begin func() *member.Request) *Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &Request{client: c, req: begin(), done: make(chan struct{})}
	complete := func() {
		r.until = c.session.Said()
		c.unsaid = append(c.unsaid, r)
		c.said()
	}
	if done, _ := r.req.Done(); done {
		complete()
	} else {
		r.req.OnDone = complete
	}
	c.changed.Broadcast()
	return r
}

// Put puts a key with its value on the world's bulletin board, which PMI's
// clients share. Other ranks find it there after the next fence.
func (c *Client) Put(key string, value []byte) error {
	return c.start(func() *member.Request { return c.session.Put(key, value) }).Wait()
}

// Get looks a key up: as of the last fence, and what ranks of this node have
// put since.
func (c *Client) Get(key string) (value []byte, found bool, err error) {
	r := c.start(func() *member.Request { return c.session.Get(key) })
	err = r.Wait()
	value, found = r.req.Value()
	return value, found, err
}

// Fence returns when every rank of the world has entered it. A barrier of PMI is
// a fence, too: each rank enters each fence once, one way or the other. Two calls of
// several goroutines are two fences, one after the other.
func (c *Client) Fence() error {
	return c.start(c.session.Fence).Wait()
}

// Sub makes a communicator of some ranks of the world, in the order given. These
// ranks, and no others, call it with the same list.
func (c *Client) Sub(ranks []int) (*Comm, error) {
	for _, rank := range ranks {
		if rank < 0 || rank >= c.Size() {
			return nil, fmt.Errorf("a communicator with rank %d of a world of %d", rank, c.Size())
		}
	}
	r := c.start(func() *member.Request { return c.session.Sub(ranks) })
	if err := r.Wait(); err != nil {
		return nil, err
	}
	return &Comm{client: c, comm: r.req.Made()}, nil
}

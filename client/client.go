package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/golaunch/golaunch/tree/member"
)

// Client is a rank's connection to the tree.
type Client struct {
	conn *os.File

	mu      sync.Mutex
	session *member.Session
	changed sync.Cond // there is something to send, or the end has come
	closing bool
	written uint64                        // bytes that the agent has
	unsaid  []*Request                    // done, but for their bytes among what is not written, in order
	lost    error                         // why nothing can be written any more
	shrinks map[*member.Comm][]*shrinking // those that were given up, in order

	tasks sync.WaitGroup
}

// Open connects this rank to the agent of its node. A rank does so once.
//
// A program that is no rank of a job gets ErrNotLaunched.
func Open(ctx context.Context) (*Client, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("golaunch: elements travel little-endian, and this machine is not")
	}
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
	select {
	case <-done:
		_, err = welcome.Done()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
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
		c.endWritten()
		c.mu.Unlock()
	}
}

// endWritten ends the requests whose bytes are all written, or never will be.
func (c *Client) endWritten() {
	for len(c.unsaid) > 0 && c.unsaid[0].until <= c.written {
		r := c.unsaid[0]
		c.unsaid = c.unsaid[1:]
		r.lost = c.lost
		r.end()
	}
}

// hungUp tells of an error that the agent has closed the connection: ECONNRESET,
// where it had not read all, of whichever of reading and writing comes first.
func hungUp(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// Close says goodbye. Operations under way are given up; ranks that wait for this one
// get an error that names it.
func (c *Client) Close() error {
	c.mu.Lock()
	if !c.closing {
		c.closing = true
		c.session.Bye()
		c.session.Close(ErrClosed)
		c.changed.Broadcast()
	}
	c.mu.Unlock()
	c.tasks.Wait()
	return nil
}

// Rank returns this process's number in the world.
func (c *Client) Rank() int { return c.session.Rank() }

// Size returns the number of ranks of the world.
func (c *Client) Size() int { return c.session.Size() }

// Node returns the number of the node that this rank runs on, among those with ranks of
// its world.
func (c *Client) Node() int { return c.session.Node() }

// Nodes returns the number of nodes with ranks of the world.
func (c *Client) Nodes() int { return c.session.Nodes() }

// World returns the communicator of all ranks.
func (c *Client) World() *Comm {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Comm{client: c, comm: c.session.World()}
}

// Sub makes a communicator of some ranks of the world, in the order given. These
// ranks, and no others, call it with the same list.
func (c *Client) Sub(ctx context.Context, ranks []int) (*Comm, error) {
	for _, rank := range ranks {
		if rank < 0 || rank >= c.Size() {
			return nil, fmt.Errorf("a communicator with rank %d of a world of %d", rank, c.Size())
		}
	}
	r, err := c.call(ctx, "a communicator", func() *member.Request { return c.session.Sub(ranks) })
	if err != nil {
		return nil, err
	}
	return &Comm{client: c, comm: r.Made()}, nil
}

package client_test

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/client"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/record"
)

// The job of these tests: ranks in two nodes, one below the other.
const (
	ranks   = 4
	perNode = 2
	nodes   = ranks / perNode
)

// core stands in for agents, in this process: the nodes of the tree and a bulletin
// board, with real sockets to the ranks.
type core struct {
	t      *testing.T
	shared [nodes]int // the ranks' end of each node's descriptor
	tasks  sync.WaitGroup

	mu      sync.Mutex
	refuse  string // answer to every call
	world   int    // of the last call
	closers []interface{ Close() error }
	nodes   [nodes]*collective.Node
	callers map[int]*caller
	board   cache.Board
	out     cache.Effects
	gets    []asked // by token
	fences  []asked
	image   string // the board's file
}

// caller is a rank.
type caller struct {
	conn net.Conn
	out  []byte
	more sync.Cond
	gone bool
}

// asked is a request that waits for the board.
type asked struct {
	rank int
	seq  uint64
}

func newCore(t *testing.T) *core {
	c := &core{t: t, callers: map[int]*caller{}}
	for i := range nodes {
		there := []collective.Direction{collective.Local, 0} // of the first node, as it sees the nodes
		if i == 1 {
			there = []collective.Direction{collective.Up, collective.Local}
		}
		hops := []collective.Run{{Count: perNode, Direction: there[0]}, {Count: perNode, Direction: there[1]}, {Count: 1, Direction: there[0]}, {Count: 1, Direction: there[1]}}
		var err error
		c.nodes[i], err = collective.New(collective.Config{Ranks: ranks, Directions: hops, Children: 1 - i, Root: i == 0,
			Node: func(rank int) int { return rank / perNode }})
		require.NoError(t, err)
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		c.shared[i] = pair[1]
		t.Cleanup(func() { syscall.Close(pair[1]) })
		mine := c.conn(pair[0]).(*net.UnixConn)
		c.tasks.Go(func() { c.takeCalls(mine) })
	}
	var err error
	c.board, err = cache.New(cache.Config{Policy: cache.HCMAB, Root: true, LocalRanks: ranks, Size: ranks, World: "w", Nodes: 1})
	require.NoError(t, err)
	require.NoError(t, c.board.Start(&c.out))
	t.Cleanup(func() {
		c.mu.Lock()
		for _, x := range c.closers {
			x.Close()
		}
		c.mu.Unlock()
		c.tasks.Wait()
	})
	return c
}

// conn returns one end of a socket pair, until the test ends.
func (c *core) conn(fd int) net.Conn {
	f := os.NewFile(uintptr(fd), "socket")
	conn, err := net.FileConn(f)
	require.NoError(c.t, err)
	f.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closers = append(c.closers, conn)
	return conn
}

// takeCalls ends with its socket.
func (c *core) takeCalls(shared *net.UnixConn) {
	buf, oob := make([]byte, 256), make([]byte, 64)
	for {
		n, m, _, _, err := shared.ReadMsgUnix(buf, oob)
		if err != nil || n == 0 {
			return
		}
		var hello record.Record
		raw, _, err := record.Frame(buf[:n])
		if err == nil {
			_, err = record.Parse(raw, &hello)
		}
		messages, err2 := syscall.ParseSocketControlMessage(oob[:m])
		if err != nil || err2 != nil || len(messages) != 1 || hello.Seq != record.Version {
			c.t.Errorf("a hello of %+v: %v, %v", hello, err, err2)
			return
		}
		fds, err := syscall.ParseUnixRights(&messages[0])
		if err != nil || len(fds) != 1 {
			c.t.Errorf("%d descriptors came: %v", len(fds), err)
			return
		}
		x := &caller{conn: c.conn(fds[0])}
		x.more.L = &c.mu
		answer := record.Record{Kind: record.Welcome, Src: hello.Src, Size: ranks, Dst: hello.Src / perNode, Count: nodes, Fn: record.Schedules, Seq: record.Probes, Comm: record.Leavers, Off: record.MaxWaiting}
		c.mu.Lock()
		if c.refuse != "" {
			answer = record.Record{Kind: record.Fail, Body: []byte(c.refuse)}
		}
		c.callers[hello.Src] = x
		c.world = int(hello.Comm)
		x.out = record.AppendFrame(nil, &answer)
		c.mu.Unlock()
		c.tasks.Go(func() { c.write(hello.Src, x) })
		c.tasks.Go(func() { c.read(hello.Src, x) })
	}
}

// write ends when reading does.
func (c *core) write(rank int, x *caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !x.gone {
		out := x.out
		if x.out = nil; len(out) == 0 {
			x.more.Wait()
			continue
		}
		c.mu.Unlock()
		x.conn.Write(out) // reading shows who has gone
		c.mu.Lock()
		c.nodes[rank/perNode].Wrote(rank, len(out))
		c.step()
	}
}

// read ends with the rank's socket.
func (c *core) read(rank int, x *caller) {
	var in []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := x.conn.Read(buf)
		c.mu.Lock()
		if err != nil {
			x.gone = true
			x.more.Broadcast()
			c.nodes[rank/perNode].Leave(rank, fmt.Sprintf("rank %d has left", rank))
			c.step()
			c.mu.Unlock()
			return
		}
		in = append(in, buf[:n]...)
		for {
			raw, rest, err := record.Frame(in)
			if err != nil {
				c.t.Errorf("rank %d: %v", rank, err)
			}
			if raw == nil {
				break
			}
			in = rest
			c.take(rank, x, raw)
		}
		c.step()
		c.mu.Unlock()
	}
}

// take handles a request.
func (c *core) take(rank int, x *caller, raw []byte) {
	var r record.Record
	if _, err := record.Parse(raw, &r); err != nil {
		c.t.Errorf("rank %d: %v", rank, err)
		return
	}
	tell := func(to asked, r record.Record) {
		r.Seq = to.seq
		y := c.callers[to.rank]
		y.out = record.AppendFrame(y.out, &r)
		y.more.Broadcast()
	}
	me := asked{rank, r.Seq}
	var err error
	switch r.Kind {
	case record.Bye:
	case record.Put:
		if err = c.board.Put(r.Body[:r.Size], r.Body[r.Size:], &c.out); err != nil {
			tell(me, record.Record{Kind: record.Fail, Fn: record.FailBoard, Body: []byte(err.Error())})
		} else {
			tell(me, record.Record{Kind: record.Got})
		}
	case record.Get:
		c.gets = append(c.gets, me)
		c.board.Get(uint64(len(c.gets)-1), r.Body, &c.out)
	case record.Fence:
		if slices.ContainsFunc(c.fences, func(x asked) bool { return x.rank == rank }) {
			c.t.Errorf("rank %d fences while it is in a fence", rank)
		}
		c.fences = append(c.fences, me)
		if err := c.board.Enter(&c.out); err != nil {
			c.t.Error(err)
		}
	case record.Map:
		image, epoch, err := c.board.(cache.Imager).Image()
		if err == nil {
			err = os.WriteFile(c.image, image, 0o600)
		}
		if err != nil {
			tell(me, record.Record{Kind: record.Fail, Fn: record.FailBoard, Body: []byte(err.Error())})
		} else {
			tell(me, record.Record{Kind: record.Mapped, Off: int64(epoch), Size: int64(len(image)), Body: []byte(c.image)})
		}
	case record.Schedule: // to the next rank in the second stage of three
		if string(r.Body) != "next" {
			tell(me, record.Record{Kind: record.Fail, Fn: record.FailSchedule, Body: []byte("no such algorithm")})
			break
		}
		part := record.AppendScheduled(nil, 0, record.ScheduledMessage{Stage: 1, Peer: (rank + 1) % ranks, Bytes: r.Size})
		part = record.AppendScheduled(part, 1, record.ScheduledMessage{Stage: 1, Peer: (rank + ranks - 1) % ranks, Received: true, Bytes: r.Size})
		tell(me, record.Record{Kind: record.Schedule, Size: 3, Body: part})
	default:
		c.nodes[rank/perNode].Request(rank, append([]byte(nil), raw...))
	}
	for _, a := range c.out.Answers {
		got := record.Record{Kind: record.Got, Body: []byte(a.Value)}
		if a.Found {
			got.Count = 1
		}
		tell(c.gets[a.Token], got)
	}
	if len(c.out.Released) > 0 {
		for _, to := range c.fences {
			tell(to, record.Record{Kind: record.Fence})
		}
		c.fences = nil
	}
	c.out.Reset()
}

// step carries out what the nodes want.
func (c *core) step() {
	var out collective.Effects
	for again := true; again; {
		again = false
		for i, n := range c.nodes {
			out.Reset()
			n.Flush(&out)
			for _, f := range out.Frames {
				again = true
				if f.To == collective.Up {
					c.nodes[0].Receive(0, f.Bytes)
				} else {
					c.nodes[1].Receive(collective.Up, f.Bytes)
				}
			}
			for _, d := range out.Deliveries {
				x := c.callers[d.Endpoint]
				x.out = append(x.out, d.Bytes...)
				x.more.Broadcast()
			}
			for _, f := range out.Faults {
				c.t.Errorf("node %d: %d: %v", i, f.Endpoint, f.Err)
			}
		}
	}
}

// open connects a rank.
func (c *core) open(rank int) (*client.Client, error) {
	c.t.Setenv("GOLAUNCH_FD", strconv.Itoa(c.shared[rank/perNode]))
	c.t.Setenv("PMI_RANK", strconv.Itoa(rank))
	return client.Open(c.t.Context())
}

// job connects all ranks.
func (c *core) job() []*client.Client {
	var all []*client.Client
	for rank := range ranks {
		x, err := c.open(rank)
		require.NoError(c.t, err)
		c.t.Cleanup(func() { x.Close() })
		all = append(all, x)
	}
	return all
}

// each has every rank do something at the same time.
func each(t *testing.T, all []*client.Client, do func(c *client.Client) error) {
	t.Helper()
	errs := make([]error, len(all))
	var tasks sync.WaitGroup
	for i, c := range all {
		tasks.Go(func() { errs[i] = do(c) })
	}
	tasks.Wait()
	for i, err := range errs {
		require.NoError(t, err, "rank %d", i)
	}
}

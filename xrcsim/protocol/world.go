package protocol

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/xrcsim"
)

// World is nodes and the processes on them. One goroutine uses it.
type World struct {
	Config
	Totals
	Delivered []Message // in that order

	queue  events
	now    time.Duration
	made   int    // events
	sent   int    // messages
	random uint64 // state
	number int    // of the last queue pair
	nodes  []*nodeState
	procs  []*processState
}

// Totals count events.
type Totals struct {
	Events     int // that have happened
	Datagrams  int // that were sent
	Repeated   int // datagrams that were sent again, as no answer had come
	Lost       int // datagrams
	Races      int // pairs of which both ends asked for a connection at once
	Direct     int // connections that were made: handshakes that joined queue pairs
	Indirect   int // peers that are reached over a connection to another
	Refused    int // requests to use a receive-only queue pair that is no more
	Sends      int // that were posted to connections; less than messages where these coalesce
	NotReady   int // sends that found no receive buffer, and were tried again
	Dropped    int // datagrams that found none
	OutOfOrder int // messages, or parts, that came before earlier ones
	Misplaced  int // sends to a process that could not receive them: always 0
}

// Message is one that was sent.
type Message struct {
	From, To  int // processes
	Number    int // of all messages, in the order of the calls
	Bytes     int
	Sent      time.Duration
	Delivered time.Duration
}

// nodeState is the state of a node's kernel and adapter.
type nodeState struct {
	free        time.Duration        // when the adapter has sent what it was given
	receiveOnly map[int]*receiveOnly // by number
	touched     map[int]bool         // queue pairs that the adapter has worked with
}

// receiveOnly is a receive-only queue pair: the end of a connection that belongs to
// all processes of the node that are registered with it [Sridhar 4.3.2].
type receiveOnly struct {
	number int
	other  int // the queue pair at the other end
	domain int // the XRC domain
	users  int // processes that are registered: without any, the kernel deletes it
}

// state is a phase of a process's life.
type state int

const (
	running state = iota
	leaving       // waits until nothing is under way to it or from it
	closing       // waits until all that are connected to it know
	gone
)

// processState is one process, with its part of the MPI library.
type processState struct {
	id, node int
	domain   int // the XRC domain that it has joined on its node
	state    state
	datagram int           // its queue pair for datagrams
	busy     time.Duration // until it has posted what it was given
	buffers  int           // in its shared receive queue
	coming   int           // messages to it that are under way

	links      map[int]*link      // by peer
	met        []*link            // the same, in the order in which they were made
	pairs      map[int]*queuePair // its own queue pairs, by number
	hash       map[place]*queuePair
	streams    map[int]*stream // messages it receives, by sender
	registered map[int]int     // receive-only queue pairs, by the process that sends to it
	left       map[int]bool    // peers that have said that they leave
	farewells  map[int]bool    // peers that have still to hear that it leaves
}

// place is the far end of an XRC connection: processes of a node in one domain.
type place struct{ node, domain int }

// New makes a world without processes. The error names the wrong field of c.
func New(c Config) (*World, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	w := &World{Config: c, random: c.Seed}
	for range c.Nodes {
		w.nodes = append(w.nodes, &nodeState{receiveOnly: map[int]*receiveOnly{}, touched: map[int]bool{}})
	}
	return w, nil
}

// Spawn starts a job now: a process on each node of the list, in that order, which
// all join one XRC domain of their nodes. It returns the numbers of the processes;
// they go on from those of the job before.
func (w *World) Spawn(nodes []int, domain int) []int {
	first := len(w.procs)
	var ids []int
	for _, n := range nodes {
		p := &processState{
			id: len(w.procs), node: n, domain: domain, datagram: w.newNumber(), buffers: w.Buffers,
			links: map[int]*link{}, pairs: map[int]*queuePair{}, hash: map[place]*queuePair{}, streams: map[int]*stream{},
			registered: map[int]int{}, left: map[int]bool{}, farewells: map[int]bool{},
		}
		w.procs = append(w.procs, p)
		ids = append(ids, p.id)
	}
	if w.Connect == xrcsim.Static && w.Transport != xrcsim.UD {
		for _, p := range w.procs[first:] {
			for _, q := range w.procs[first:] {
				if p != q && !w.share(p, q) {
					w.after(0, func() { w.connect(w.link(p, q)) })
				}
			}
		}
	}
	return ids
}

func (w *World) newNumber() int {
	w.number++
	return w.number
}

// share says whether two processes have memory in common to send messages through.
func (w *World) share(p, q *processState) bool {
	return p.node == q.node && w.Inside == xrcsim.SharedMemory
}

// maxBytes is the most of a message.
const maxBytes = 1 << 30

// Send sends a message now. It fails, and nothing is sent, if a process is none or
// leaves, or has left, and for a message to the sender itself or of no possible
// size.
func (w *World) Send(from, to, bytes int) error {
	for _, id := range []int{from, to} {
		switch {
		case id < 0 || id >= len(w.procs):
			return fmt.Errorf("process %d: there are 0 to %d", id, len(w.procs)-1)
		case w.procs[id].state != running:
			return fmt.Errorf("process %d leaves or has left", id)
		}
	}
	if from == to {
		return fmt.Errorf("process %d: a message to itself", from)
	}
	if bytes < 0 || bytes > maxBytes {
		return fmt.Errorf("message of %d bytes: expected 0 to %d", bytes, maxBytes)
	}
	w.sent++
	m := &message{Message: Message{From: from, To: to, Number: w.sent, Bytes: bytes, Sent: w.now}}
	w.procs[to].coming++
	w.send(w.link(w.procs[from], w.procs[to]), m)
	return nil
}

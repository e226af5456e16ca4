package protocol

import (
	"fmt"

	"github.com/golaunch/golaunch/xrcsim"
)

// QueuePairs counts the queue pairs of a process that send and are connected, or about
// to be, without the one for datagrams.
func (w *World) QueuePairs(process int) int { return len(w.procs[process].pairs) }

// ReceiveOnly counts the receive-only queue pairs of a node.
func (w *World) ReceiveOnly(node int) int { return len(w.nodes[node].receiveOnly) }

// Touched counts the queue pairs that the adapter of a node has worked with.
func (w *World) Touched(node int) int { return len(w.nodes[node].touched) }

// Gone says whether a process has ended.
func (w *World) Gone(process int) bool { return w.procs[process].state == gone }

// UnderWay counts the messages that were sent and have not been delivered.
func (w *World) UnderWay() int { return w.sent - len(w.Delivered) }

// Check returns an error if one of these invariants, which hold between any two events,
// is broken:
//
//   - A process has one queue pair at most for each peer, or with XRC each node.
//   - A receive-only queue pair has as many users as processes are registered with
//     it, and at least one.
//
// - Each peer that a process is connected to can receive its messages.
func (w *World) Check() error {
	users := map[int]int{} // of receive-only queue pairs
	for _, p := range w.procs {
		if err := w.checkPairs(p); err != nil {
			return err
		}
		for from, number := range p.registered {
			if w.nodes[p.node].receiveOnly[number] == nil {
				return fmt.Errorf("process %d is registered with receive-only queue pair %d of process %d, which is no more", p.id, number, from)
			}
			users[number]++
		}
		if p.buffers < 0 || p.buffers > w.Buffers {
			return fmt.Errorf("process %d has %d receive buffers of %d", p.id, p.buffers, w.Buffers)
		}
	}
	for n, kernel := range w.nodes {
		for number, end := range kernel.receiveOnly {
			if end.users < 1 || end.users != users[number] {
				return fmt.Errorf("receive-only queue pair %d of node %d counts %d users, and %d are registered", number, n, end.users, users[number])
			}
		}
	}
	if w.Misplaced > 0 {
		return fmt.Errorf("%d sends reached nobody", w.Misplaced)
	}
	return nil
}

// checkPairs checks the queue pairs of a process and their far ends.
func (w *World) checkPairs(p *processState) error {
	type target struct {
		place
		peer int
	}
	seen := map[target]int{}
	for number, q := range p.pairs {
		t := target{q.to, -1}
		if w.Transport != xrcsim.XRC {
			t.peer = q.peer.id
		}
		if other, ok := seen[t]; ok {
			return fmt.Errorf("process %d has queue pairs %d and %d to node %d, process %d", p.id, other, number, t.node, t.peer)
		}
		seen[t] = number
	}
	if p.state != running {
		return nil
	}
	for _, l := range p.met {
		if l.state == ready && !w.receives(l.pair, l.to) {
			return fmt.Errorf("process %d is connected to process %d, which cannot receive by queue pair %d", p.id, l.to.id, l.pair.target)
		}
	}
	return nil
}

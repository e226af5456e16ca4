package xrcsim

import (
	"fmt"

	"github.com/golaunch/golaunch/xrcsim/workload"
)

// Workload has the peers of a job's processes.
type Workload struct {
	Name string
	// Program is the program's own pattern, of many messages between any two.
	Program workload.Peers
	// Setup has the connections of few messages: MPI_Init, small collectives.
	Setup workload.Peers
}

// Spread is the average, the least and the most of some processes or nodes.
type Spread struct {
	Average float64 `json:"average"`
	Minimum float64 `json:"minimum"`
	Maximum float64 `json:"maximum"`
}

// Point is the connections of one job by one transport.
type Point struct {
	Transport Transport `json:"transport"`
	Workload  string    `json:"workload"`
	Nodes     int       `json:"nodes"`
	PPN       int       `json:"ppn"`
	Ranks     int       `json:"ranks"`

	// Peers are the processes that a process reaches over the network.
	Peers Spread `json:"peers"`
	// QueuePairs are those of a process that send, without the one for handshakes.
	QueuePairs Spread `json:"queue_pairs"`
	// ReceiveOnly are the receive-only queue pairs of a node.
	ReceiveOnly Spread `json:"receive_only_per_node"`
	// HCA counts all queue pairs of a node, which its adapter's cache has to hold.
	HCA Spread `json:"hca_queue_pairs"`
	// QueuePairBytes is the memory of QueuePairs, of a process.
	QueuePairBytes Spread `json:"queue_pair_bytes_per_process"`
	// Bytes is that of all its queue pairs, its share of its node's receive-only
	// ones, and its receive buffers.
	Bytes Spread `json:"bytes_per_process"`
}

// Count works out the connections of a job, a point for each transport. The error
// names a transport, or a way to connect, that is none.
func Count(j Job, w Workload, p Parameters, transports []Transport) ([]Point, error) {
	program, all := w.Program, workload.Both(w.Program, w.Setup)
	switch p.Connect {
	case Static:
		all = workload.All(j.Ranks)
		program = all
	case OnDemand:
	default:
		return nil, fmt.Errorf("connections %q: expected %s or %s", p.Connect, OnDemand, Static)
	}
	if p.Inside != SharedMemory && p.Inside != Network {
		return nil, fmt.Errorf("inside a node %q: expected %s or %s", p.Inside, SharedMemory, Network)
	}
	total := j.tallyOf(all, p.Inside)
	var points []Point
	for _, t := range transports {
		u := use{sends: total.peers}
		switch t {
		case RC:
			u.datagram = 1
		case XRC:
			u = use{sends: total.nodes, receiveOnly: total.inbound, datagram: 1}
		case UD:
			u = use{each: 1}
		case Hybrid:
			u = use{sends: j.tallyOf(program, p.Inside).peers, datagram: 1}
		case DC:
			u = use{each: int32(p.Initiators) + 1}
		default:
			return nil, fmt.Errorf("transport %q: expected one of %v", t, Transports())
		}
		point := u.point(j, p)
		point.Transport, point.Workload, point.Peers = t, w.Name, spread(j.Ranks, func(r int) float64 { return float64(total.peers[r]) })
		points = append(points, point)
	}
	return points, nil
}

// use is the queue pairs that a job takes.
type use struct {
	sends       []int32 // of each rank, connected; nil if there are none
	each        int32   // of each rank besides
	receiveOnly []int32 // of each node; nil if there are none
	datagram    int     // of each rank, for handshakes
}

// sending counts the queue pairs of a rank that send.
func (u *use) sending(rank int) int {
	if u.sends == nil {
		return int(u.each)
	}
	return int(u.sends[rank] + u.each)
}

// receiving counts the queue pairs of a node that only receive.
func (u *use) receiving(node int) int {
	if u.receiveOnly == nil {
		return 0
	}
	return int(u.receiveOnly[node])
}

func (u *use) point(j Job, p Parameters) Point {
	return Point{
		Nodes: j.Nodes(), PPN: j.PPN, Ranks: j.Ranks,
		QueuePairs:     spread(j.Ranks, func(r int) float64 { return float64(u.sending(r)) }),
		ReceiveOnly:    spread(j.Nodes(), func(n int) float64 { return float64(u.receiving(n)) }),
		QueuePairBytes: spread(j.Ranks, func(r int) float64 { return float64(u.sending(r)) * float64(p.QueuePair) }),
		HCA: spread(j.Nodes(), func(n int) float64 {
			first, end := j.Block(n)
			sum := u.receiving(n) + (end-first)*u.datagram
			for r := first; r < end; r++ {
				sum += u.sending(r)
			}
			return float64(sum)
		}),
		Bytes: spread(j.Ranks, func(r int) float64 {
			first, end := j.Block(j.Node(r))
			share := float64(u.receiving(j.Node(r))) * float64(p.ReceiveOnly) / float64(end-first)
			return float64(u.sending(r)+u.datagram)*float64(p.QueuePair) + share + float64(p.Buffers)*float64(p.BufferBytes)
		}),
	}
}

// spread returns the spread of f over 0..n-1, where n is positive.
func spread(n int, f func(i int) float64) Spread {
	s := Spread{Minimum: f(0), Maximum: f(0)}
	sum := 0.0
	for i := range n {
		x := f(i)
		s.Minimum, s.Maximum = min(s.Minimum, x), max(s.Maximum, x)
		sum += x
	}
	s.Average = sum / float64(n)
	return s
}

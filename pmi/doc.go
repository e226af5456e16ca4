// Package pmi is the server side of PMI-1.1 for the ranks that one node holds
// of one world: bytes from the ranks go in, replies and requests to the world's
// bulletin board come out. docs/pmi1.md describes the protocol as served here.
//
// # Model
//
// PMI-1 is lock-step: a line from the client, a line back. A [Server] keeps the
// order even where a client does not wait: what a rank sent ahead is held until
// the request before it is answered. Three commands need more than the server
// knows (put, get and barrier_in); for each of them one [Request] comes out, and
// the rank stands still until the caller reports the outcome with PutDone,
// GetDone or FenceDone. These may be called at once or much later; they append
// to the same kind of [Effects] as Receive does.
//
// A caller that has a bulletin board which answers at once runs a loop:
//
//	server.Receive(rank, data, &out)
//	for i := 0; i < len(out.Requests); i++ { // Done calls may append more
//		switch q := out.Requests[i]; q.Op {
//		case pmi.Put:
//			server.PutDone(q.Rank, board.Put(q.Key, q.Value), &out)
//		...
//		}
//	}
//	write out.Replies, act on the rest, out.Reset()
//
// # What is not here
//
// The server owns no descriptor, goroutine or clock. Which connection belongs
// to which rank, how a rank finds its connection (PMI_FD and its neighbours in
// the environment), and what becomes of the job after an abort or a violation
// are the caller's affair. Spawning and the name service are answered as
// unsupported. PMI-2 is recognised and refused by name.
package pmi

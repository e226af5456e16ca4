// Package pmi is the server side of PMI-1 and PMI-2 for the ranks that one node
// holds of one world: bytes from the ranks go in, replies and requests to the
// rest of the job come out. docs/pmi.md describes the
// protocols as served here; a connection may switch between them at any
// request, as PMI-2 clients do after their first.
//
// # Model
//
// Both protocols are lock-step: a request from the client, a reply back. A [Server]
// keeps the order even where a client does not wait: requests sent ahead are held until
// the one before them is answered. Some commands need more than the server knows: the
// world's bulletin board (put, get, fence), the names of the job, a new world. For each
// of them one [Request] comes out, and the rank stands still until the caller reports
// the outcome with the Done method that the request's [Op] names. These may be called
// at once or much later; they append to the same kind of [Effects] as Receive does.
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
// Two kinds of request do not hold their connection up while they wait for
// other ranks, because their clients say that they go on meanwhile: those with
// thrid (PMI-2, one of several threads) and barriers of groups (PMI 1.2).
//
// # What is not here
//
// The server owns no descriptor, goroutine or clock. The caller assigns connections to
// ranks, tells ranks of them (PMI_FD and its neighbors in the environment), and ends
// the job after an abort or a violation. [Caller] and [Server.Attach] identify ranks
// that connect to a port. [Names] is the table of published services for the caller
// that is the job's root.
package pmi

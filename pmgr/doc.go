// Package pmgr is the server side of PMGR_COLLECTIVE, protocol version 8, by
// which MPI libraries of the MVAPICH 1 family start up, for the ranks that one
// node holds: bytes from the ranks go in, replies and operations over the tree
// come out [Sridhar 2.3.2]. docs/pmi.md describes the protocol as
// served here.
//
// Ranks call collective operations, all the same in the same order. A [Server]
// waits until all local ranks have called, has the nodes agree that all ranks
// call the same, puts the local ranks' parts together into one of the node,
// asks for the operation over the tree, and cuts the answer up. One [Request]
// is under way at a time; the caller reports its end with [Server.Done].
//
// The server owns no descriptor, goroutine or clock: connections are numbers of
// the caller's.
package pmgr

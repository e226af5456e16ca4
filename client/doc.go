// Package client is the tree of a golaunch job as a service to its programs: collective
// operations and messages between ranks, communicators, and the world's bulletin board,
// for programs of any programming model. It needs no MPI, and does not disturb one in
// the same process.
//
//	job, err := client.Open(ctx)
//	if err != nil { ... } // ErrNotLaunched: not started by golaunch
//	defer job.Close()
//	sum := []float64{x}
//	err = client.AllReduce(ctx, job.World(), client.Sum, sum, sum)
//
// Operations of a communicator are collective: every member begins the same ones, in
// the same order. Those that begin with Start return at once, and any number of them
// may be under way; their buffers are the library's until the Request is done. A
// process other than rank 0, 1, ... of the job, such as a child of one, has no part in
// it. All calls may come from several goroutines. When a call that waits has returned
// nil, the rank may end without Close: the agent has the data that others need of it.
//
// A context that ends while a call over a communicator waits leaves that broken for
// this rank (ErrBroken), as a connection is whose reader has stopped in a message;
// Shrink makes another.
//
// docs/client.md has limits and costs, and describes the protocol; libgolaunch is for C.
package client

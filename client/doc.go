// Package client is the tree of a golaunch job as a service to its programs:
// collective operations and messages between ranks, communicators, and the
// world's bulletin board, whatever programming model the program follows. It
// needs no MPI, and does not disturb one in the same process.
//
//	job, err := client.Open()
//	if err != nil { ... } // not started by golaunch
//	defer job.Close()
//	world := job.World()
//	sum := make([]byte, 8)
//	err = world.AllReduce(client.Int64, client.Sum, mine, sum)
//
// Operations of a communicator are collective: every member begins the same
// ones, in the same order. Those that begin with Start return at once, and any
// number of them may be under way; their buffers are the library's until Wait
// returns. A process other than rank 0, 1, ... of the job, such as a child of
// one, has no part in it. All methods may be called from several goroutines. When a
// call that waits has returned nil, the rank may end without Close: the agent has what
// others need of it.
//
// docs/client.md describes the protocol, libgolaunch the same for C.
package client

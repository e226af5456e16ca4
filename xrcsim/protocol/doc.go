// Package protocol simulates the connections and messages of jobs' processes over
// InfiniBand [Sridhar 4.3], event by event. The same calls give the same run on every
// machine: events at one time happen in the order in which they were made, and chance
// comes from a seed.
//
// Begin with world.go: a World has nodes and processes, Send and Leave are a program's
// actions. connect.go looks a connection up, or makes one, as figure 4.2 has it;
// handshake.go is the datagrams that this takes, which may get lost; send.go is figure
// 4.3, with message coalescing; receive.go is the shared receive queue; datagram.go
// sends messages without a connection; leave.go ends a process, whose node goes on
// receiving for the others (figure 4.4). Check has the invariants.
//
// Not here: time that processes compute, switches, and how an adapter's cache
// misses: only how many queue pairs it has to hold. Package protocol is pure.
package protocol

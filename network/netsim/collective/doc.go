// Package collective has the algorithms of collective operations as values. A Program
// (program.go) is an algorithm for so many ranks and bytes: stages of messages, each of
// which knows its size and where in the operation's vector its bytes are. The uses of a
// Program are written once: Run moves data by it, Price returns its cost on a network,
// and Program.Schedule makes a schedule for package netsim to simulate.
//
// Algorithms (algorithm.go) is the table. A further algorithm is a file that
// makes a gathering (gathering.go), and a line in the table: from one way to
// gather, reduce-scatter, broadcast, reduce and allreduce follow.
//
// The operation's vector has part i for rank i: its own part of an allgather, and of
// the result of a reduce-scatter. All data is at its final place in the vector from the
// beginning, so that a message is one run of bytes. The algorithms that restore the
// order with a further stage [Sack 3.4] move inputs so that this is so, as their source
// does: there is no message that gathers scattered bytes.
package collective

// Package alltoall plans exchanges of all ranks with all: in which stages they send
// what to whom, so that messages of a stage share few links [Subramoni 6].
//
// fixed.go has the schedules that MPI libraries use on any network: XOR, Pairwise,
// Bruck and ScatterDestination. tacs.go has those that know the network, TACS1 and
// TACS2; hosts.go makes a schedule of ranks out of one of hosts. Cost (cost.go)
// compares schedules, Bound is what none can beat, and Choose (choose.go) takes the
// best. Algorithms (algorithms.go) has all by name.
//
// A stage of a netsim.Schedule is what [Subramoni 6] calls a step. A rank keeps what
// it has for itself: no schedule has a message for that.
package alltoall

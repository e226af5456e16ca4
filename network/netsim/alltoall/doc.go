// Package alltoall plans the stages of exchanges of all ranks with all, so that
// messages of a stage share few links [Subramoni 6].
//
// fixed.go has the schedules that MPI libraries use on any network: XOR, Pairwise,
// Bruck and ScatterDestination. tacs.go has those that know the network, TACS1 and
// TACS2; hosts.go makes a schedule of ranks out of one of hosts. Cost (cost.go)
// compares schedules, none costs less than Bound, and Choose (choose.go) takes the
// best. Algorithms (algorithms.go) has all by name.
//
// [Subramoni 6] calls a stage of a netsim.Schedule a step. A rank keeps its own block:
// no schedule has a message for that.
package alltoall

// Package netsim computes the cost of collective operations on a known network. Begin
// with schedule.go: a Schedule lists messages with their sizes, stage by stage. Network
// (network.go) puts ranks on the hosts of a routing.Router and knows the links between
// them; Load (load.go) adds up a stage's load of each link; Simulate lets its messages
// flow.
//
// The algorithms are in packages beside: network/netsim/collective has those that MPI
// libraries use and those made for tori, meshes and Clos networks;
// network/netsim/alltoall has exchanges that avoid shared links; network/netsim/rooted has
// gathers, scatters and broadcasts by racks and near hosts.
//
// Sizes are in bytes wherever time is asked for, and else in a unit of the
// caller's, such as blocks. Times are in seconds. Rates are in bytes per second.
// The package is pure.
package netsim

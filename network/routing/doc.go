// Package routing knows which way messages go through a network, and in which
// order a network's hosts become ranks.
//
// A Router (router.go) gives the route of a pair of hosts. There is one for each
// kind of network: DModK for whole fat trees, UpDown for whatever else, among it
// fat trees with parts missing, DimensionOrder for tori and meshes, Minimal
// for dragonflies, and Tables for what a subnet manager says it does. New picks one. CreditLoop tells whether a router can deadlock, and where.
//
// A Sequence (sequence.go) is who sends to whom in each stage of a collective
// operation; HotSpots counts how many of a stage's messages share a link. Plan
// orders the hosts so that they do not, where the network allows it.
//
// Routes are counted in Hops, the switches on a route, and in Links, Hops + 1.
// The package is pure: what may run in parallel goes through a topology.Loop of the
// caller's.
package routing

// Package routing knows which way messages go through a network, and in which
// order a network's hosts become ranks.
//
// A Router (router.go) gives the route of a pair of hosts. There is one for each kind
// of network: DModK for whole fat trees, UpDown for all other networks, among it fat
// trees with parts missing, DimensionOrder for tori and meshes, Minimal for
// dragonflies, and Tables for the routes of a subnet manager. New picks one. CreditLoop
// tells whether a router can deadlock, and where.
//
// A Sequence (sequence.go) lists the senders and receivers of each stage of a
// collective operation; HotSpots counts how many of a stage's messages share a link.
// Plan orders the hosts so that they do not, where the network allows it.
//
// Routes are counted in Hops, the switches on a route, and in Links, Hops + 1. The
// package is pure: parallel work goes through a topology.Loop of the caller's.
package routing

// Package topology describes networks: hosts, switches, and the cables between their
// ports. Begin with graph.go (Graph, the one model that everything about the network
// works on) and family.go (Family, the addition of a regular network to it); builder.go
// makes a Graph, family by family in tuple.go, fattree.go, torus.go, and dragonfly.go.
//
// A Graph is a value: built once (Builder), never changed, the same on every
// machine for the same input. It may be irregular, degraded or in pieces. A
// Family, if there is one, names the regular network that the graph is or is a
// part of, and each node's place in it. Generators attach it; Recognize derives
// it from nothing but cables.
//
// Units: a rate is in bit/s in one direction, 0 where unknown. Hops are the
// switches on a route, Links are Hops + 1; functions say which they count.
package topology

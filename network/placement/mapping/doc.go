// Package mapping decides which rank of a program is on which host of a network, by the
// ranks' messages to each other. Begin with Choose.
//
// A Target (target.go) is places, one for each rank, with a distance between each
// two and the levels, or the coordinates, that the network has. A Map gives each
// rank a place. It is judged by hop-bytes: weight times distance, over all pairs of
// ranks that communicate; metrics.go has this and other figures, each with its unit.
//
// Candidates compete: each is a way to map ranks, in a file of its own, with a line in
// the table of candidate.go. Choose takes the best of all and refines it (anneal.go);
// it never returns a map that is worse than the default order. Whatever is random is
// decided by a seed, the same on every machine. The package is pure.
package mapping

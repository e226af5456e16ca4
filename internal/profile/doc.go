// Package profile is what ranks sent whom, as their calls of MPI said
// [Subramoni 7]: how the counters of a node's ranks lie in the file that they
// share with their agent (Layout, ReadRank), how they travel (Part), how they
// become one file (Profile, Write, Read), and what follows from it: the
// collective operations expanded by a named algorithm (Expand), sums per node
// (Fold), and the communication graph that placement maps (Graph).
//
// Not here: the counting itself (native/libprofile), who makes the file and
// sends what is in it (package agent).
package profile

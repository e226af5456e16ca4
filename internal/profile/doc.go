// Package profile counts the messages of ranks to each other, by their calls of MPI
// [Subramoni 7]: the layout of the file in which a node's ranks count, shared with
// their agent (Layout, ReadRank), the messages between agents (Part), the file of a job
// (Profile, Write, Read), and results drawn from it: the collective operations expanded
// by a named algorithm (Expand), sums per node (Fold), and the communication graph that
// placement maps (Graph).
//
// Not here: the counting itself (native/libprofile), the making of the file and the
// sending of its content (package agent).
package profile

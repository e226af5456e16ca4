// Package commgraph describes the communication of a parallel program as a graph of its
// ranks, which placement maps onto a network. Begin with graph.go; New makes a graph of
// a program's own edges. Package commgraph is pure.
//
// Read reads a file in whichever known form it has: METIS' (metis.go), a matrix
// (matrix.go), a list of pairs (list.go); a new form is a file and a line in the table
// of read.go. Parse makes grids and the uniform graph of a word (spec.go). Star
// (star.go) and Grid (grid.go) recognise shapes of graphs.
//
// Weights are in a unit of the source's: bytes, messages, or none. The same graph
// in another unit maps the same way. A grid's weights are 1 unless they are given.
package commgraph

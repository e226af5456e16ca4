// Package workload computes the peers of each process of a parallel program: the NAS
// Parallel Benchmarks (npb.go), Cartesian stencils (cart.go), all with all, random
// pairs, and recorded graphs (source.go), and the further connections of MPI_Init and
// small collective operations (collective.go). A pattern is a function of the rank: it
// takes no memory, however many ranks there are.
//
// docs/simulators.md has the formulas. Package workload is pure.
package workload

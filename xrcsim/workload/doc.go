// Package workload tells with whom each process of a parallel program exchanges
// messages: the NAS Parallel Benchmarks (npb.go), Cartesian stencils (cart.go),
// all with all, random pairs, and recorded graphs (source.go), and what MPI_Init
// and small collective operations connect besides (collective.go). A pattern is a
// function of the rank: it takes no memory, however many ranks there are.
//
// docs/simulators.md has the formulas. Package workload is pure.
package workload

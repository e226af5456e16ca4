// Package xrcsim tells how many queue pairs an MPI job needs over InfiniBand, and
// what memory they take, by transport: RC, XRC, UD, hybrid, DC [Sridhar 4]. Begin
// with count.go: Count works out the connections of one job by set arithmetic, so
// that a million ranks take seconds. job.go has the job and how its ranks lie on
// nodes, memory.go what a queue pair costs.
//
// xrcsim/workload says who communicates with whom. xrcsim/protocol simulates how
// the connections come to be, message by message, and gives the same counts.
// Package xrcsim is pure; docs/simulators.md explains the model.
package xrcsim

// Format is what the JSON of golaunch xrcsim is called in its member "format".
const Format = "golaunch-xrcsim"

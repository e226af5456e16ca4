// Package xrcsim counts the queue pairs that an MPI job needs over InfiniBand, and
// their memory, by transport: RC, XRC, UD, hybrid, DC [Sridhar 4]. Begin with count.go:
// Count works out the connections of one job by set arithmetic, so that a million ranks
// take seconds. job.go has the job and the placement of its ranks, memory.go the cost
// of a queue pair.
//
// xrcsim/workload has the peers of each rank. xrcsim/protocol simulates the making of
// connections, message by message, and gives the same counts. Package xrcsim is pure;
// docs/simulators.md explains the model.
package xrcsim

// Format is the member "format" of the JSON of golaunch xrcsim.
const Format = "golaunch-xrcsim"

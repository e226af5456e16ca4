// Package sched simulates a resource manager that gives hosts to jobs, to measure the
// gain of choosing hosts that share no links [Subramoni 8]. Begin with Run; select.go
// has the ways to choose hosts, links.go the links that they share, workload.go the
// jobs.
//
// Times are in seconds of the simulation. The package is pure.
package sched

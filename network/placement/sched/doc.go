// Package sched simulates a resource manager that gives hosts to jobs, to tell what it
// brings to choose hosts that share no links [Subramoni 8]. Begin with Run; select.go
// has the ways to choose hosts, links.go what they share, workload.go the jobs.
//
// Times are in seconds of the simulation. The package is pure.
package sched

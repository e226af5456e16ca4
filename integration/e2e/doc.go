// Package e2e holds golaunch's end-to-end tests: the real binary, real sshd on
// the nodes of a test cluster (package cluster), unmodified MPICH programs and
// plain PMI clients built from native/. It has no code of its own.
//
// Tests that a machine cannot run say why.
//
// Tests that wait more than they work run beside each other (t.Parallel), after all
// others: those that have a cluster of their own, or none and look at no processes but
// their own. Tests that look at all processes of this machine are not among them, nor
// those that depend on the order of news from two nodes, or on the seconds in which an
// agent that was given up is swept away.
package e2e

// Package e2e holds golaunch's end-to-end tests: the real binary, real sshd on
// the nodes of a test cluster (package cluster), unmodified MPICH programs and
// plain PMI clients built from native/. It has no code of its own.
//
// What a machine cannot run says why.
//
// Tests that wait more than they work run beside each other (t.Parallel), after all
// others: those that have a cluster of their own, or none and look at no processes but
// their own. What looks at all processes of this machine is not among them, nor what
// depends on which of two nodes is heard of first, or on the seconds in which an agent
// that was given up is swept away.
package e2e

// Package e2e holds golaunch's end-to-end tests: the real binary, real sshd on
// the nodes of a test cluster (package cluster), unmodified MPICH programs and
// plain PMI clients built from native/. It has no code of its own.
//
// What a machine cannot run says why.
package e2e

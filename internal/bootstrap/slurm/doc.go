// Package slurmboot is the bootstrap inside an allocation of Slurm: a Bulk that has one
// srun start the agents of all hosts, as tasks of one step. So agents and ranks are in
// the job's containment, and no node needs an sshd.
//
// A heterogeneous job has one srun for each of its components, since srun's standard
// input, over which the secret goes, reaches one alone.
//
// Where a node does not answer, srun ends the whole step. Then it is started again
// without that node. Where the executable is on no file system of a node, srun brings it.
//
// Not here: which hosts an allocation has (package hostlist), and how agents call
// (package rendezvous).
package slurmboot

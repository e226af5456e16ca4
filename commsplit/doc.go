// Package commsplit computes MPI_Comm_split: for every colour, its ranks in the
// order of key and old rank.
package commsplit

// Package placement decides which host each rank runs on. It takes a value, the
// Input: hosts with their slots, and the ranks of the apps. A Rule turns it into
// Runs in rank order, and Place checks those and returns them as the job.Blocks
// that the launch message carries.
//
// A rule is free in its result: hosts in any order, some left out, one as often as it
// likes. Where it knows a host for each rank, Fold makes runs of that. A new rule is
// one file with one type, and one line in the table of rules.
//
// Not here: which hosts there are and which of them are dead, how nodes are
// numbered, what is printed (package launcher); how names become hosts (package
// hostlist).
package placement

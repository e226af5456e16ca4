// Package overlay is what the launcher and every node launch agent have in
// common: the messages of the tree and who may send them of whom (kinds.go,
// origin.go), the edges to parent and children with their sending and receiving
// goroutines, and the start of agents on a list of
// hosts with retries, hedging and a bounded window of handshakes (docs/architecture.md).
//
// Everything that happens is delivered as an Event into an Inbox; the owner of
// the inbox, one event loop, decides. Not here: ranks, PMI, output lines
// (package agent), the plan and the exit code (package launcher).
package overlay

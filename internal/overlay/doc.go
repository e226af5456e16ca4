// Package overlay is the common part of the launcher and every node launch agent: the
// messages of the tree and the rights of their senders (kinds.go, origin.go), the edges
// to parent and children with their sending and receiving goroutines, and the start of
// agents on a list of hosts with retries, hedging and a bounded window of handshakes
// (docs/architecture.md).
//
// Everything that happens is delivered as an Event into an Inbox; the owner of
// the inbox, one event loop, decides. Not here: ranks, PMI, output lines
// (package agent), the plan and the exit code (package launcher).
package overlay

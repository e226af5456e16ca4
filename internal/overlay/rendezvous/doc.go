// Package rendezvous brings agents that a bootstrap.Bulk has started to their parents.
// Every agent calls the launcher, over package internal/link/tlslink, and says on which
// host it runs. The launcher keeps the connection until somebody wants that host:
// either it takes the connection for the link, or it names another agent to call
// instead, where the same goes on. To agents that want hosts it is a bootstrap.Piper,
// whose Start waits for the call.
//
// Messages on a connection before it becomes a link (wire.go): the agent's call, the
// host's name; then the order, link or an address or a refusal; then, to be linked, the
// agent's word that it is there still.
//
// Not here: the proof of the job's secret (internal/link/tlslink), the choice of
// parents (package overlay), the start of agents (bootstrap.Bulk).
package rendezvous

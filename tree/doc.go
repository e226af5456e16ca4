// Package tree is the k-ary tree over the node launch agents, as pure data and
// state: its shape (contiguous ranges of hosts split into k parts, or cut between
// switches), the frames that travel on its links, the routing of a frame
// towards one host, and the primitives built on both: Broadcast, Gather and
// Barrier [Sridhar 2.2.3].
//
// A Node never touches a link. It is told events (a child joined, a message came, this
// node contributed) and returns messages to send; the agent carries it out. Children
// cover contiguous runs of the host list, so that HostIndex is a pre-order of the tree
// and a routing table is one sorted run list per child; where the list mixes switches
// and the tree does not, that list is longer.
//
// Not here: keys and values (package cache), how children are started
// (package overlay), how bytes cross a link (package link).
package tree

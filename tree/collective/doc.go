// Package collective is one agent's part of the operations that ranks and
// agents do over the tree: Send and Recv between any two endpoints, Broadcast,
// Gather, AllGather, Scatter, AllToAll, Barrier, Reduce, AllReduce and Split over
// all ranks, all agents, or the members of a communicator [Sridhar 2.2.3; docs/client.md]. docs/client.md has the design, with its bounds on memory and why
// nothing can wait for itself.
//
// A Node is pure: it is told frames of a link ([Node.Receive]) and records of an
// endpoint of its own ([Node.Request]), deliveries that an endpoint has taken
// ([Node.Wrote]) and losses ([Node.Lost]); [Node.Flush] then returns the frames and
// deliveries to send. Endpoints are numbered: the ranks first, then the agents.
//
// Records (package tree/record) are routed through the lowest common ancestor of their
// source and destination. Members of a communicator that a Split made have a number for
// that, beside their rank (directory.go). The receiver asks for everything long, so
// there is always room for arriving data; links have credits.
package collective

// Package agent is the node launch agent (NLA): the process that golaunch
// starts on every node. It is one event loop over its parent's link, its children's
// links, its warden and its ranks' connections. The node is here (Agent): links, the
// subtree, descriptors, the warden, its own start and end. What it does for a job is
// in package jobs, which knows it by jobs.Node.
//
// An agent's life: hello to the parent; a Range from it; children started and
// gathered into Ready; the Launch message forwarded and the job's ranks started
// through the warden; their PMI requests, output, input and ends served and
// reported; Done; END. A parent that is lost means: kill everything, leave.
//
// Not here: how hosts are reached (package bootstrap), how ranks are forked and
// reaped (internal/proc), what an exit means for the job (package launcher).
package agent

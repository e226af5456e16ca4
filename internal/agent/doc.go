// Package agent is the node launch agent (NLA): the process that golaunch
// starts on every node of a job. It is one event loop over its parent's link,
// its children's links, its warden and its ranks' PMI connections; what is
// decided is decided by the pure cores it owns (tree, cache, pmi, ending, input), and
// this package carries it out.
//
// An agent's life: hello to the parent; a Range from it; children started and
// gathered into Ready; the Launch message forwarded and its own ranks started
// through the warden; their PMI requests, output, input and ends served and
// reported; Done; END. A parent that is lost means: kill everything, leave.
//
// Not here: how hosts are reached (package bootstrap), how ranks are forked and
// reaped (internal/proc), what an exit means for the job (package launcher).
package agent

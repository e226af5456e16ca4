// Package jobs is what a node knows of its jobs and does for them: worlds and what answers
// their ranks, the ranks' environment, CPUs and GPUs, standard input, files, output's end,
// failures, spawns, PMIx, profiles, what ranks wait for, and how all of it ends.
//
// A Job belongs to its node's event loop: it is given messages and events, and knows the node by
// the interface Node alone. Each part of it is a type in a file of its own. What is decided is
// decided by pure cores (cache, pmi, ending, input).
//
// Not here: links, the tree's start and end, the warden's life (package agent); how ranks are
// forked and reaped (internal/proc); what an exit means for the job (package launcher).
package jobs

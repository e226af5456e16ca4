// Package proc starts, watches and ends the ranks of one node (docs/architecture.md,
// Processes).
//
// Model: two processes. The warden is the same executable run again, as a
// process that never gets to main: it forks and reaps the ranks, is their
// subreaper, holds their cgroups and does nothing else. It serves all jobs of its tree:
// each is opened and closed, has a cgroup below the tree's and a GOLAUNCH_JOB of its own,
// and the end of one touches no other. The agent, which calls
// Start, gets the parent's ends of the ranks' pipes and sockets over a
// SOCK_SEQPACKET socket as descriptors (SCM_RIGHTS), so the warden's descriptor
// table, which every fork copies, stays small. The agent sends commands (Launch,
// Help, Signal, Kill, CloseJob, Finish) and reads events (Next).
//
// A rank gets stdin (a pipe or /dev/null), stdout and stderr (pipes), and one end
// of a stream socketpair for PMI whose number is as high as can be (marks.go), and Options.Shared, if there
// is one, at 4; nothing else is open. It is the leader of its own session and
// process group, ignores and blocks no signal, whatever the agent does, and its
// environment carries GOLAUNCH_JOB.
//
// A helper (Warden.Help) is a process of golaunch's own that serves ranks. The warden
// starts it before them and it ends after them; it hears none of their signals.
//
// No orphans: the warden kills a job when it is told to, and all when the agent's
// end of the socket closes. All descendants of the ranks are the warden's too,
// since orphans become children of the subreaper, so it is done when it has no
// child left. While several jobs are open, an orphan belongs to one by its cgroup, its
// session, its ancestry or its environment; one that none of them tells ends with the
// tree. When the warden dies, the agent, a subreaper as well, does the
// same with Warden.Sweep. When both die, Sweep finds processes by GOLAUNCH_JOB.
//
// NOT here: the output and requests of ranks (packages stdio and pmi), their placement
// and environment (package launcher), and the meaning of an exit for the job (package
// agent).
package proc

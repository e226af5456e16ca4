// Package ending is how a job ends on a node, and how an agent's life ends. A Job decides when
// the ends of its ranks are told and when what they left behind is killed; the Node, when the
// warden is told to end and when it counts as stuck, and when the agent leaves the tree. Pure:
// events in, actions out.
//
// A job goes through these stages:
//
//	ranks run ──last one ends──> linger ──time over, or nothing can write──> clean
//	    ^                          │                                           │
//	    └────── a world comes ─────┴────────────────── nothing is left ────────┘
//
//	killed:   the ranks were told to end; those that wait never start
//
// A node may skip to the last ones of its stages from any:
//
//	finished: the warden was told to end, or has
//	leaving:  the parent has said END; the children are told, the ranks killed
//	over:     children and warden have ended, or the parent is lost, or this node
//	          can have no ranks
//
// Whoever is told something may not do it. The warden is given time (Watch) and
// killed when that is over; children are given time by whoever carries out
// EndChildren.
//
// What is not here: clocks, timers, processes, links, and which world has which
// rank.
package ending

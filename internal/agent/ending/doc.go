// Package ending is how an agent's life ends: when its ranks' ends are told, when
// what they left behind is killed, when the warden is told to end and when it
// counts as stuck, when the agent leaves the tree. Pure: events in, actions out.
//
// A life goes through these stages, and may skip to the last ones from any:
//
//	ranks run ──last one ends──> linger ──time over, or nothing can write──> clean
//	    ^                          │                                           │
//	    └────── a world comes ─────┴────────────────── nothing is left ────────┘
//
//	killed:   the ranks were told to end; those that wait never start
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

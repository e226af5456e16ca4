// Package cache is the bulletin board of a world: the key-value space that PMI
// puts, gets and fences work on, as seen by one node of the tree (docs/architecture.md).
//
// # Model
//
// A world's fences number its epochs. At every node a [Board] answers each get
// from the state at the last fence that node completed plus the node's own
// later puts; anything else is not found. A get may ask other nodes, but it
// never waits for a fence: the clients are lock-step, and one that waited would
// keep its own rank from entering. Any number of puts per rank and epoch is
// legal, none included, and a key may be put again in any epoch.
//
// Among puts of one key within one epoch the last one on the highest-numbered
// node wins, where nodes are numbered in pre-order of the tree (a node, then
// its children by slot) and puts on one node count in the order in which they
// came. Every node sees the same winner. A put of a later epoch replaces those
// of earlier ones.
//
// # Policies
//
// Gets have the same answers under every [Policy], and package cachetest holds the
// suite that checks it. Policies differ in the entries that a node holds, and so in
// messages. The first four are ScELA's (sections 3.2.1 to 3.2.4); the fifth is the
// distributed cache that its section 3.4 leaves for later. Here p ranks on nodes nodes
// have put n entries each, B is [Config].Budget, a round is the puts of one epoch, and
// depth is a node's distance from the root:
//
//	policy       a node holds                              during a fence also
//	hcs          what passed it: O(p·n) at the root        its subtree's round
//	hcma         as hcs                                    its subtree's round
//	hcmab        everything: O(p·n)                        its subtree's round
//	hcmab-lru    keys whose home it is, p·n/nodes, and B   its subtree's round
//	distributed  keys whose home it is, p·n/nodes, and B   its homes' round
//
//	policy       messages for puts and fence               for a get that misses
//	hcs          depth per put, and 2·(nodes−1)            2 per node up to one that knows
//	hcma         2·(nodes−1)                               as hcs
//	hcmab        2·(nodes−1)                               none: nothing is missed
//	hcmab-lru    2·(nodes−1), more for a long round        2, with the home
//	distributed  2 per node and home it puts to,           2, with the home
//	             and 2·(nodes−1)
//
// To all of it comes the node's own puts of the round. hcs and hcma keep the values
// that pass a node, in either direction, without bound; B is there for keys that they
// know to be absent. Under hcmab every broadcast carries the whole round over every
// edge; under distributed no message carries more than one node has put, but most
// messages cross several edges.
//
// docs/pmi.md derives the exact counts.
//
// Copies: where caches hold values that the fence does not bring itself (hcs,
// hcma, distributed), its answer lists the keys of which they may be wrong, or
// says to drop all, and each node obeys before it releases its ranks. That a
// key is absent is known for one epoch only. The home of a key is [Home], so
// nobody needs to be told; a home that is asked about an epoch of which it has
// not heard keeps the question until the fence's answer, already under way,
// has reached it.
//
// Replacement: B holds the entries used last, but a scan over a stage that does not fit
// finds the part of it that does (lru.go).
//
// # What is not here
//
// A Board is a pure state machine: it owns no goroutine, clock or link. Its caller
// carries whole messages to neighbors and, for policies that use homes, routes them to
// nodes by number ([Node]), in order per sender and receiver, cut into frames where
// links need that, and tells worlds apart. Package pmi knows the ranks' questions and
// their spelling.
package cache

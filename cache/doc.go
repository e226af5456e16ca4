// Package cache is the bulletin board of a world: the key-value space that PMI
// puts, gets and fences work on, as seen by one node of the tree (design
// section 6).
//
// # Model
//
// A world's fences number its epochs. At every node a [Board] answers each get
// at once from the state at the last fence that node completed plus the node's
// own later puts; anything else is not found. A get never waits for a fence:
// the clients are lock-step, and one that waited would keep its own rank from
// entering. Any number of puts per rank and epoch is legal, none included, and
// a key may be put again in any epoch.
//
// Among puts of one key within one epoch the last one on the highest-numbered
// node wins, where nodes are numbered in pre-order of the tree (a node, then
// its children by slot) and puts on one node count in the order in which they
// came. Every node sees the same winner. A put of a later epoch replaces those
// of earlier ones.
//
// # Policies
//
// How a node comes to know the state is the policy's affair ([Policy]); what a
// get answers is the same under all of them, and package cachetest holds the
// suite that checks it. Policy hcmab (hierarchical cache with message
// aggregation and broadcast) sends one aggregate per node up and one copy of
// the merged aggregate down each edge per fence: 2·(nodes−1) messages, after
// which every get is local.
//
// # What is not here
//
// A Board is a pure state machine: it owns no goroutine, clock or link. Its
// caller carries whole messages between neighbours, in order per direction,
// cut into frames where links need that, and tells worlds apart. Which rank
// asked what, and how PMI spells it, is package pmi's affair.
package cache

// Package rooted plans collective operations that have a root, for networks that are
// known: gather and scatter by rack [Subramoni 3], broadcast along near and fast
// hosts first [Subramoni 4].
//
// All are trees (tree.go): Tree.Broadcast, Scatter and Gather make the schedule. The
// hosts below one leaf switch are a rack; Racks (racks.go) has ranks of a rack in one
// part of the tree. Place (place.go) puts hosts into the places of a k-nomial tree, and
// Broadcasts keeps a tree for each root. model.go computes the time of a schedule by
// start-up times and rates alone; package netsim knows contention as well.
package rooted

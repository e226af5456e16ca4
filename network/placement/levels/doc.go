// Package levels maps ranks onto a machine that is a hierarchy, such as a Cray XC:
// groups of chassis, of blades, of nodes, of sockets [Sahoo]. Begin with machine.go:
// a Machine is the cores of one job's allocation, whole or sparse, and the entity
// that each is in at each level. A map is the core of each rank; maps that functions
// are given have each core once.
//
// cost.go computes the cost of a map: the volume that stays below each level, and the
// time of the rank that communicates longest, from a latency and a bandwidth per level.
// simulate.go lets all messages be on their way at once, over links and sockets that
// they share. recursive.go and grid.go make maps, refine.go improves one, choose.go
// compares them and takes none that is worse than rank order.
//
// Levels count from the top, 0. The level of a message is the first at which the two
// cores are in different entities: 0 is between groups, Machine.Levels() within one
// socket. The mapping depth is the last level that a map regards.
//
// The package is pure.
package levels

// Package managers tests golaunch in allocations of resource managers: real ones, on the
// test cluster.
package managers

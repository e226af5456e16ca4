// Package partition divides the ranks of a communication graph into parts of given
// sizes so that little is sent between parts. Begin with Parts.
//
// It is a multilevel partitioner [Karypis and Kumar]: ranks that send each other much are put together
// until few vertices are left (coarsen.go), these are divided by growing one side
// (grow.go), and at each level on the way back vertices change sides while that
// cuts less (refine.go). More than two parts come from dividing the sides again
// (partition.go); then each two parts that touch are refined once more (pairs.go).
//
// Sizes are exact. The same seed gives the same parts on every machine. The package
// is pure.
package partition

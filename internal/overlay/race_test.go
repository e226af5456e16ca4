//go:build race

package overlay

// raced says that the race detector slows everything down by an order of magnitude.
const raced = true

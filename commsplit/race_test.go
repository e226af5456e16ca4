//go:build race

package commsplit

// raced says that the race detector slows everything down by an order of magnitude.
const raced = true

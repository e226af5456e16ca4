// Package pacing holds the rules for the pace at which an agent starts those below it (docs/architecture.md): how many handshakes it has in flight, and which host of a part
// is tried when. Package overlay carries them out over real connections,
// integration/bench/scale in an event model.
//
// Not here: how hosts are cut into parts (tree.Split), and how often one host
// is tried.
package pacing

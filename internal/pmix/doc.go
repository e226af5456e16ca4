// Package pmix is what an agent and its helper golaunch-pmix (native/pmix) say to each
// other: the helper is a PMIx server for ranks of one node, which it links the library
// of, and the agent does for it what crosses nodes. docs/pmix.md has the same for
// people.
//
// A message travels as a frame: the length of what follows in four bytes, the kind in
// one, the number of a request in four, and the fields of the message in the order of
// its struct. Numbers are little-endian. A string or a blob is its length in four bytes
// and its bytes; a list the number of its items in four bytes and the items; a struct
// its fields; a bool one byte, 0 or 1.
//
// A request has a number that its sender chose, and its answer has the same. Numbers of
// the agent's requests and of the helper's are apart. What is answered by nobody has
// the number 0.
//
// The package is pure. It knows no wire format of PMIx: what the library packs stays
// packed.
package pmix

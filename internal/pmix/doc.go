// Package pmix has the messages of an agent and its helper golaunch-pmix (native/pmix):
// the helper is a PMIx server for ranks of one node, whose library it links, and the
// agent does the work between nodes for it. docs/pmix.md has the same for people.
//
// A message travels as a frame: the length of the rest in four bytes, the kind in one,
// the number of a request in four, and the fields of the message in the order of its
// struct. Numbers are little-endian. A string or a blob is its length in four bytes and
// its bytes; a list the number of its items in four bytes and the items; a struct its
// fields; a bool one byte, 0 or 1.
//
// A request has a number that its sender chose, and its answer has the same. Numbers of
// the agent's requests and of the helper's are apart. Messages without an answer have
// the number 0.
//
// The package is pure. It knows no wire format of PMIx: bytes that the library packs
// stay packed.
package pmix

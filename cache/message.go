package cache

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Messages between Boards. All numbers are uvarints (encoding/binary) except
// the kind and drop, which are one byte each:
//
//	aggregate  kind=1 epoch ranks entry...     child to parent
//	state      kind=2 epoch entry...           parent to child
//	put        kind=3 epoch entry...           child to parent, node to home
//	entered    kind=4 epoch ranks drop key...  child to parent
//	release    kind=5 epoch drop key...        parent to child
//	accepted   kind=6 epoch drop key...        home to node, for each put
//	get        kind=7 epoch key                child to parent, node to home
//	found      kind=8 epoch entry              parent to child, home to node
//	missing    kind=9 epoch key                parent to child, home to node
//	part       kind=10 epoch entry...          parent to child, before a state
//	key        keyLength key
//	entry      keyLength key valueLength value
//
// epoch is the number of fences completed before the one the message belongs to; found
// and missing repeat that of the get. ranks counts the ranks of the sender's subtree
// that have entered the fence. Entries and keys run to the end of the message; among
// entries of one key the last one counts, so that concatenation merges: aggregates can
// be forwarded without being re-encoded. drop is 1 where caches drop all they hold,
// else 0 and they drop the keys.
type kind byte

const (
	kindAggregate kind = 1 + iota
	kindState
	kindPut
	kindEntered
	kindRelease
	kindAccepted
	kindGet
	kindFound
	kindMissing
	kindPart
	numKinds
)

var kindNames = [numKinds]string{"", "aggregate", "state", "put", "entered", "release", "accepted", "get", "found", "missing", "part"}

func (k kind) known() bool { return k > 0 && k < numKinds }

func (k kind) String() string {
	if !k.known() {
		return fmt.Sprintf("kind %d", byte(k))
	}
	return kindNames[k]
}

// kinds is a set of kinds.
type kinds uint16

func kindSet(of ...kind) kinds {
	var s kinds
	for _, k := range of {
		s |= 1 << k
	}
	return s
}

func (s kinds) has(k kind) bool { return s>>k&1 != 0 }

func (s kinds) String() string {
	var names []string
	for k := kind(1); k < numKinds; k++ {
		if s.has(k) {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, " or ")
}

var (
	withRanks   = kindSet(kindAggregate, kindEntered)
	withDrop    = kindSet(kindEntered, kindRelease, kindAccepted)
	withEntries = kindSet(kindAggregate, kindState, kindPut, kindFound, kindPart)
	withOne     = kindSet(kindGet, kindFound, kindMissing) // one key or entry, no list
)

// header precedes the entries or keys of a message.
type header struct {
	kind    kind
	epoch   Epoch
	ranks   int
	dropAll bool
}

// maxHeader bounds an encoded header, in bytes.
const maxHeader = 2 + 2*binary.MaxVarintLen64

func (h header) appendTo(b []byte) []byte {
	b = append(b, byte(h.kind))
	b = binary.AppendUvarint(b, uint64(h.epoch))
	if withRanks.has(h.kind) {
		b = binary.AppendUvarint(b, uint64(h.ranks))
	}
	if withDrop.has(h.kind) {
		drop := byte(0)
		if h.dropAll {
			drop = 1
		}
		b = append(b, drop)
	}
	return b
}

// parseHeader reads msg's header and returns the offset of its body. maxRanks
// bounds the header's ranks.
func parseHeader(msg []byte, maxRanks int) (h header, off int, err error) {
	if len(msg) == 0 {
		return h, 0, fmt.Errorf("offset 0: empty message")
	}
	if h.kind = kind(msg[0]); !h.kind.known() {
		return h, 0, fmt.Errorf("offset 0: unknown message of %v", h.kind)
	}
	epoch, off, ok := uvarint(msg, 1)
	if !ok {
		return h, 1, fmt.Errorf("offset 1: epoch cut short or too large")
	}
	h.epoch = Epoch(epoch)
	if withRanks.has(h.kind) {
		ranks, next, ok := uvarint(msg, off)
		if !ok || ranks > uint64(maxRanks) {
			return h, off, fmt.Errorf("offset %d: rank count cut short or above the world's %d", off, maxRanks)
		}
		h.ranks, off = int(ranks), next
	}
	if withDrop.has(h.kind) {
		if off == len(msg) || msg[off] > 1 {
			return h, off, fmt.Errorf("offset %d: neither 0 nor 1 for what to drop", off)
		}
		h.dropAll = msg[off] == 1
		off++
	}
	return h, off, nil
}

// checkBody reports the first thing wrong with the body msg[off:] of a message
// of kind k.
func checkBody(msg []byte, off int, k kind, maxKey, maxValue int) (err error) {
	if withOne.has(k) && off == len(msg) {
		return fmt.Errorf("offset %d: no key", off)
	}
	for first := true; off < len(msg); first = false {
		if withOne.has(k) && !first {
			return fmt.Errorf("offset %d: bytes after the end", off)
		}
		if withEntries.has(k) {
			off, err = checkEntry(msg, off, maxKey, maxValue)
		} else {
			off, err = checkKey(msg, off, maxKey)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

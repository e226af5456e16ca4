package cache

import (
	"encoding/binary"
	"fmt"
)

// Messages between Boards. All numbers are uvarints (encoding/binary) except
// the kind, which is one byte:
//
//	aggregate  kind=1 epoch ranks entry...   child to parent
//	state      kind=2 epoch entry...         parent to child
//	entry      keyLength key valueLength value
//
// epoch is the number of fences completed before the one the message belongs
// to. ranks is how many ranks of the sender's subtree have entered it. Entries
// run to the end of the message; among entries of one key the last one counts,
// so that concatenation merges: aggregates are forwarded without being
// re-encoded.
type kind byte

const (
	kindAggregate kind = 1
	kindState     kind = 2
)

func (k kind) String() string {
	switch k {
	case kindAggregate:
		return "aggregate"
	case kindState:
		return "state"
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// header is what precedes the entries of a message.
type header struct {
	kind  kind
	epoch Epoch
	ranks int // aggregate only
}

// maxHeader bounds an encoded header, in bytes.
const maxHeader = 1 + 2*binary.MaxVarintLen64

func (h header) appendTo(b []byte) []byte {
	b = append(b, byte(h.kind))
	b = binary.AppendUvarint(b, uint64(h.epoch))
	if h.kind == kindAggregate {
		b = binary.AppendUvarint(b, uint64(h.ranks))
	}
	return b
}

// parseHeader reads msg's header and returns the offset of its first entry.
// maxRanks bounds the header's ranks.
func parseHeader(msg []byte, maxRanks int) (h header, off int, err error) {
	if len(msg) == 0 {
		return h, 0, fmt.Errorf("offset 0: empty message")
	}
	h.kind = kind(msg[0])
	if h.kind != kindAggregate && h.kind != kindState {
		return h, 0, fmt.Errorf("offset 0: unknown message of %v", h.kind)
	}
	epoch, off, ok := uvarint(msg, 1)
	if !ok {
		return h, 1, fmt.Errorf("offset 1: epoch cut short or too large")
	}
	h.epoch = Epoch(epoch)
	if h.kind == kindAggregate {
		ranks, next, ok := uvarint(msg, off)
		if !ok || ranks > uint64(maxRanks) {
			return h, off, fmt.Errorf("offset %d: rank count cut short or above the world's %d", off, maxRanks)
		}
		h.ranks, off = int(ranks), next
	}
	return h, off, nil
}

// bytestring is what entries are read from.
type bytestring interface{ ~string | ~[]byte }

// uvarint reads a number at s[off:] and returns the offset after it.
func uvarint[T bytestring](s T, off int) (v uint64, next int, ok bool) {
	for shift := 0; off < len(s) && shift < 64; shift += 7 {
		c := s[off]
		off++
		if shift == 63 && c > 1 {
			return 0, off, false // more than 64 bits
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, off, true
		}
	}
	return 0, off, false
}

// field reads a length and as many bytes at s[off:], and returns the bounds of
// those bytes.
func field[T bytestring](s T, off int) (from, to int, ok bool) {
	n, from, ok := uvarint(s, off)
	if !ok || n > uint64(len(s)-from) {
		return from, from, false
	}
	return from, from + int(n), true
}

// checkEntries reports the first thing wrong with the entries msg[off:].
func checkEntries(msg []byte, off, maxKey, maxValue int) error {
	for off < len(msg) {
		from, to, ok := field(msg, off)
		switch {
		case !ok:
			return fmt.Errorf("offset %d: key cut short", off)
		case to == from:
			return fmt.Errorf("offset %d: empty key", off)
		case to-from > maxKey:
			return fmt.Errorf("offset %d: key of %d bytes, at most %d are allowed", off, to-from, maxKey)
		}
		off = to
		if from, to, ok = field(msg, off); !ok {
			return fmt.Errorf("offset %d: value cut short", off)
		}
		if to-from > maxValue {
			return fmt.Errorf("offset %d: value of %d bytes, at most %d are allowed", off, to-from, maxValue)
		}
		off = to
	}
	return nil
}

// entrySize is the encoded size of an entry, in bytes.
func entrySize(key, value int) int {
	return uvarintSize(key) + key + uvarintSize(value) + value
}

func uvarintSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

func appendEntry(b []byte, key, value string) []byte {
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

package cache

import (
	"encoding/binary"
	"fmt"
)

// bytestring is a sequence of bytes to read entries from.
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

// checkKey checks the key at msg[off:], and returns the offset after it.
func checkKey(msg []byte, off, maxKey int) (next int, err error) {
	from, to, ok := field(msg, off)
	switch {
	case !ok:
		return off, fmt.Errorf("offset %d: key cut short", off)
	case to == from:
		return off, fmt.Errorf("offset %d: empty key", off)
	case to-from > maxKey:
		return off, fmt.Errorf("offset %d: key of %d bytes, at most %d are allowed", off, to-from, maxKey)
	}
	return to, nil
}

// checkEntry is checkKey for a key and its value.
func checkEntry(msg []byte, off, maxKey, maxValue int) (next int, err error) {
	if off, err = checkKey(msg, off, maxKey); err != nil {
		return off, err
	}
	from, to, ok := field(msg, off)
	switch {
	case !ok:
		return off, fmt.Errorf("offset %d: value cut short", off)
	case to-from > maxValue:
		return off, fmt.Errorf("offset %d: value of %d bytes, at most %d are allowed", off, to-from, maxValue)
	}
	return to, nil
}

// keys calls yield with each key of body, which must be well formed.
func keys[T bytestring](body T) func(yield func(key T) bool) {
	return func(yield func(key T) bool) {
		for off := 0; off < len(body); {
			from, to, _ := field(body, off)
			if off = to; !yield(body[from:to]) {
				return
			}
		}
	}
}

// entries calls yield with each entry of body, which must be well formed.
func entries[T bytestring](body T) func(yield func(key, value T) bool) {
	return func(yield func(key, value T) bool) {
		for off := 0; off < len(body); {
			from, to, _ := field(body, off)
			key := body[from:to]
			from, to, _ = field(body, to)
			if off = to; !yield(key, body[from:to]) {
				return
			}
		}
	}
}

// fieldSize returns the encoded size of n bytes and their length.
func fieldSize(n int) int {
	size := n + 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// entrySize returns the encoded size of an entry, in bytes.
func entrySize(key, value int) int { return fieldSize(key) + fieldSize(value) }

func appendField[T bytestring](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendEntry[T bytestring](b []byte, key, value T) []byte {
	return appendField(appendField(b, key), value)
}

package overlay

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// recordWeight is the number of values that a map counts for beside its members, and a
// list or nothing in a list: each takes memory when decoded, though it be empty.
const recordWeight = 8

// maxNested bounds the depth of nested values.
const maxNested = 16

// weigh refuses an encoded payload of more than so many values, before any memory
// is taken for them: elements of arrays and members of maps. Encode writes plain CBOR,
// so that lengths without end and tags are refused as well.
func weigh(payload []byte, values int) error {
	w := scale{rest: payload, left: uint64(max(values, 0))}
	if err := w.item(maxNested); err != nil {
		return err
	}
	if len(w.rest) > 0 {
		return fmt.Errorf("%d bytes follow the value", len(w.rest))
	}
	return nil
}

// scale is a payload that is being weighed.
type scale struct {
	rest []byte
	left uint64 // values that may come still
}

var (
	errCutShort = errors.New("the value is cut short")
	errNotPlain = errors.New("the value is not in plain CBOR")
	errTooDeep  = fmt.Errorf("values lie in each other more than %d deep", maxNested)
	errTooHeavy = errors.New("more values than its sender can have to tell")
)

// Major types of CBOR (RFC 8949 section 3.1).
const (
	majorUint = iota
	majorNegative
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorSimple
)

// item takes one value off, with all that is in it.
func (w *scale) item(depth int) error {
	if depth < 0 {
		return errTooDeep
	}
	major, n, err := w.head()
	if err != nil {
		return err
	}
	switch major {
	case majorBytes, majorText:
		if n > uint64(len(w.rest)) {
			return errCutShort
		}
		w.rest = w.rest[n:]
	case majorArray:
		return w.list(n, depth-1)
	case majorMap:
		return w.record(n, depth-1)
	case majorTag:
		return errNotPlain
	}
	return nil
}

func (w *scale) list(n uint64, depth int) error {
	if err := w.count(n, 1); err != nil {
		return err
	}
	for range n {
		if len(w.rest) > 0 && (w.rest[0]>>5 == majorArray || w.rest[0]>>5 == majorSimple) {
			if err := w.take(recordWeight); err != nil {
				return err
			}
		}
		if err := w.item(depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *scale) record(n uint64, depth int) error {
	if err := w.count(n, 2); err != nil {
		return err
	}
	if err := w.take(recordWeight); err != nil {
		return err
	}
	for range 2 * n {
		if err := w.item(depth); err != nil {
			return err
		}
	}
	return nil
}

// count takes so many values off, of at least so many bytes each.
func (w *scale) count(n, bytes uint64) error {
	if n > uint64(len(w.rest))/bytes {
		return errCutShort
	}
	return w.take(n)
}

func (w *scale) take(weight uint64) error {
	if weight > w.left {
		return errTooHeavy
	}
	w.left -= weight
	return nil
}

// head takes the head of a value off.
func (w *scale) head() (major byte, n uint64, err error) {
	if len(w.rest) == 0 {
		return 0, 0, errCutShort
	}
	major, n = w.rest[0]>>5, uint64(w.rest[0]&31)
	w.rest = w.rest[1:]
	if n < 24 {
		return major, n, nil
	}
	if n > 27 {
		return 0, 0, errNotPlain
	}
	size := 1 << (n - 24)
	if size > len(w.rest) {
		return 0, 0, errCutShort
	}
	var wide [8]byte
	copy(wide[8-size:], w.rest[:size])
	w.rest = w.rest[size:]
	return major, binary.BigEndian.Uint64(wide[:]), nil
}

package record

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
)

// Types of the elements that are combined, little-endian.
const (
	Int32 uint8 = (iota + 1) << 4
	Int64
	Uint64
	Float32
	Float64
	Uint8
)

// Functions that combine elements.
const (
	Sum uint8 = 1 + iota
	Prod
	Min
	Max
	And // bitwise; not of floats
	Or
	Xor
	MinLoc // of places, LocSize bytes each; of equal values the lower index
	MaxLoc
)

// LocSize is the size of a place, which MinLoc and MaxLoc combine: an index, an int64,
// then a value of the type, then zeros.
const LocSize = 16

// ElementSize returns the size of fn's elements in bytes, or 0 if there is no such
// function.
func ElementSize(fn uint8) int {
	f, bits := fn&0x0f, fn&0x0f >= And
	switch {
	case f < Sum || f > MaxLoc || fn&0xf0 < Int32 || fn&0xf0 > Uint8:
		return 0
	case Locates(fn):
		return LocSize
	}
	switch fn & 0xf0 {
	case Int32:
		return 4
	case Int64, Uint64:
		return 8
	case Float32:
		if !bits {
			return 4
		}
	case Float64:
		if !bits {
			return 8
		}
	case Uint8:
		return 1
	}
	return 0
}

// Locates tells whether fn combines places.
func Locates(fn uint8) bool { return fn&0x0f >= MinLoc }

// Ordered tells whether the outcome of fn depends on the order in which it is applied.
func Ordered(fn uint8) bool {
	t, f := fn&0xf0, fn&0x0f
	return (t == Float32 || t == Float64) && (f == Sum || f == Prod)
}

// Fold combines part into acc, element by element. Both are of one size, a
// multiple of fn's elements.
func Fold(fn uint8, acc, part []byte) error {
	size := ElementSize(fn)
	if size == 0 || len(acc) != len(part) || len(acc)%size != 0 {
		return fmt.Errorf("%d and %d bytes cannot be combined by function %#x", len(acc), len(part), fn)
	}
	if Locates(fn) {
		for i := 0; i < len(acc); i += size {
			if closer(fn, part[i:i+size], acc[i:i+size]) {
				copy(acc[i:i+size], part[i:])
			}
		}
		return nil
	}
	f := fn & 0x0f
	le := binary.LittleEndian
	switch fn { // long contributions mostly have these
	case Float64 | Sum:
		for ; len(acc) >= 8 && len(part) >= 8; acc, part = acc[8:], part[8:] {
			le.PutUint64(acc, math.Float64bits(math.Float64frombits(le.Uint64(acc))+math.Float64frombits(le.Uint64(part))))
		}
		return nil
	case Float32 | Sum:
		for ; len(acc) >= 4 && len(part) >= 4; acc, part = acc[4:], part[4:] {
			le.PutUint32(acc, math.Float32bits(math.Float32frombits(le.Uint32(acc))+math.Float32frombits(le.Uint32(part))))
		}
		return nil
	case Int64 | Sum, Uint64 | Sum:
		for ; len(acc) >= 8 && len(part) >= 8; acc, part = acc[8:], part[8:] {
			le.PutUint64(acc, le.Uint64(acc)+le.Uint64(part))
		}
		return nil
	}
	for i := 0; i < len(acc); i += size {
		a, p := acc[i:i+size], part[i:i+size]
		switch fn & 0xf0 {
		case Int32:
			le.PutUint32(a, uint32(integer(f, int32(le.Uint32(a)), int32(le.Uint32(p)))))
		case Int64:
			le.PutUint64(a, uint64(integer(f, int64(le.Uint64(a)), int64(le.Uint64(p)))))
		case Uint64:
			le.PutUint64(a, integer(f, le.Uint64(a), le.Uint64(p)))
		case Float32:
			le.PutUint32(a, math.Float32bits(number(f, math.Float32frombits(le.Uint32(a)), math.Float32frombits(le.Uint32(p)))))
		case Float64:
			le.PutUint64(a, math.Float64bits(number(f, math.Float64frombits(le.Uint64(a)), math.Float64frombits(le.Uint64(p)))))
		case Uint8:
			a[0] = integer(f, a[0], p[0])
		}
	}
	return nil
}

// closer tells whether place p comes before a.
func closer(fn uint8, p, a []byte) bool {
	const at = 8
	le := binary.LittleEndian
	order := 0
	switch fn & 0xf0 {
	case Int32:
		order = cmp.Compare(int32(le.Uint32(p[at:])), int32(le.Uint32(a[at:])))
	case Int64:
		order = cmp.Compare(int64(le.Uint64(p[at:])), int64(le.Uint64(a[at:])))
	case Uint64:
		order = cmp.Compare(le.Uint64(p[at:]), le.Uint64(a[at:]))
	case Float32:
		order = cmp.Compare(math.Float32frombits(le.Uint32(p[at:])), math.Float32frombits(le.Uint32(a[at:])))
	case Float64:
		order = cmp.Compare(math.Float64frombits(le.Uint64(p[at:])), math.Float64frombits(le.Uint64(a[at:])))
	case Uint8:
		order = cmp.Compare(p[at], a[at])
	}
	if order == 0 {
		return int64(le.Uint64(p)) < int64(le.Uint64(a))
	}
	return order < 0 == (fn&0x0f == MinLoc)
}

func integer[T int32 | int64 | uint64 | uint8](f uint8, a, b T) T {
	switch f {
	case And:
		return a & b
	case Or:
		return a | b
	case Xor:
		return a ^ b
	}
	return number(f, a, b)
}

func number[T int32 | int64 | uint64 | uint8 | float32 | float64](f uint8, a, b T) T {
	switch f {
	case Sum:
		return a + b
	case Prod:
		return a * b
	case Min:
		return min(a, b)
	}
	return max(a, b)
}

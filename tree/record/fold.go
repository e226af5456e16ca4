package record

import (
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
)

// ElementSize is the size of fn's elements in bytes, or 0 if there is no such
// function.
func ElementSize(fn uint8) int {
	f, bits := fn&0x0f, fn&0x0f >= And
	if f < Sum || f > Xor {
		return 0
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

// Fold combines part into acc, element by element. Both are of one size, a
// multiple of fn's elements.
func Fold(fn uint8, acc, part []byte) error {
	size := ElementSize(fn)
	if size == 0 || len(acc) != len(part) || len(acc)%size != 0 {
		return fmt.Errorf("%d and %d bytes cannot be combined by function %#x", len(acc), len(part), fn)
	}
	f := fn & 0x0f
	le := binary.LittleEndian
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

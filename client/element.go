package client

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/golaunch/golaunch/tree/record"
)

// Element is a type that operations and messages move. Elements travel as they lie in
// memory, little-endian; int and uint have 64 bits on the machines that golaunch runs
// on.
type Element interface {
	Number | ~int8 | ~int16 | ~uint16 | ~uint32 | ~complex64 | ~complex128
}

// Number is a type that agents combine.
type Number interface {
	~int32 | ~int64 | ~int | ~uint64 | ~uint | ~uint8 | ~float32 | ~float64
}

// Indexed is a value and whose it is, for MinLoc and MaxLoc.
type Indexed[T Number] struct {
	Index int64
	Value T
}

// Combinable is a type that reductions combine.
type Combinable interface {
	Number | Indexed[int32] | Indexed[int64] | Indexed[int] | Indexed[uint64] | Indexed[uint] |
		Indexed[uint8] | Indexed[float32] | Indexed[float64]
}

// Op is a function that combines two elements.
type Op uint8

// The functions. And, Or and Xor are bitwise, and not for floats. MinLoc and MaxLoc are
// for Indexed values, and for these alone: the least (greatest) value with its index;
// of equal ones the lowest index.
const (
	Sum    = Op(record.Sum)
	Prod   = Op(record.Prod)
	Min    = Op(record.Min)
	Max    = Op(record.Max)
	And    = Op(record.And)
	Or     = Op(record.Or)
	Xor    = Op(record.Xor)
	MinLoc = Op(record.MinLoc)
	MaxLoc = Op(record.MaxLoc)
)

// function is op for elements of T, as the protocol has it.
func function[T Combinable](op Op) (uint8, error) {
	t := reflect.TypeFor[T]()
	indexed := t.Kind() == reflect.Struct
	switch {
	case op < Sum || op > MaxLoc:
		return 0, fmt.Errorf("operation %d, which does not exist", op)
	case indexed != record.Locates(uint8(op)):
		return 0, fmt.Errorf("MinLoc and MaxLoc combine Indexed values, and nothing else does; these are %v", t)
	case indexed && t.Size() != record.LocSize:
		return 0, fmt.Errorf("%v has %d bytes on this machine, not %d", t, t.Size(), record.LocSize)
	}
	if indexed {
		t = t.Field(1).Type
	}
	if k := t.Kind(); (k == reflect.Int || k == reflect.Uint) && t.Size() != 8 {
		return 0, fmt.Errorf("%v has %d bytes on this machine; name its size", t, t.Size())
	}
	return typeOf(t.Kind()) | uint8(op), nil
}

// typeOf returns the protocol's type for numbers of a kind.
func typeOf(kind reflect.Kind) uint8 {
	switch kind {
	case reflect.Int32:
		return record.Int32
	case reflect.Int64, reflect.Int:
		return record.Int64
	case reflect.Uint64, reflect.Uint:
		return record.Uint64
	case reflect.Uint8:
		return record.Uint8
	case reflect.Float32:
		return record.Float32
	}
	return record.Float64 // Combinable has no other
}

// sizeOf returns the size of an element in bytes.
func sizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// bytesOf returns the memory of elements.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*sizeOf[T]())
}

// overlap tells whether two slices share memory.
func overlap[T any](a, b []T) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	size := uintptr(sizeOf[T]())
	return p < q+uintptr(len(b))*size && q < p+uintptr(len(a))*size
}

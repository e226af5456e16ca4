package commsplit

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Undefined is the colour of a rank that wants no new communicator
// (MPI_UNDEFINED, whose value differs from one MPI to the next; the caller maps
// it). Every other value of a uint32 is a colour.
const Undefined = 1<<32 - 1

// RowBytes is the size of a Row in memory and on a link, in bytes: three 32-bit
// fields [Sack 2.2].
const RowBytes = 12

// Row is one rank's entry in the table that MPI_Comm_split sorts. Rows are
// ordered by colour, then key, then old rank; since every old rank occurs once,
// no two rows are equal, however many keys are.
type Row struct {
	Rank  uint32 // in the old communicator
	key   uint32 // with the sign bit flipped, so that unsigned order is signed order
	Color uint32
}

const signBit = 1 << 31

// NewRow returns the row of an old rank.
func NewRow(color uint32, key int32, rank uint32) Row {
	return Row{Rank: rank, key: uint32(key) ^ signBit, Color: color}
}

// Key returns the signed key that the rank gave.
func (r Row) Key() int32 { return int32(r.key ^ signBit) }

// String writes the row as color/key/rank.
func (r Row) String() string { return fmt.Sprintf("%d/%d/%d", r.Color, r.Key(), r.Rank) }

func (r *Row) major() uint64 { return uint64(r.Color)<<32 | uint64(r.key) }

// before is 1 if a comes before b, else 0: the borrow of a 96-bit subtraction,
// so that a loop can advance by it without a branch. Everything that compares
// rows in this package comes here.
func before(a, b *Row) uint64 {
	_, borrow := bits.Sub64(uint64(a.Rank), uint64(b.Rank), 0)
	_, borrow = bits.Sub64(a.major(), b.major(), borrow)
	return borrow
}

// Compare orders rows, for package slices: negative, 0 or positive.
func Compare(a, b Row) int { return int(before(&b, &a)) - int(before(&a, &b)) }

// lowerBound returns the number of rows of a sorted table that come before x.
func lowerBound(table []Row, x *Row) int {
	lo, hi := 0, len(table)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if before(&table[mid], x) != 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func appendRow(b []byte, r Row) []byte {
	b = binary.LittleEndian.AppendUint32(b, r.Rank)
	b = binary.LittleEndian.AppendUint32(b, r.key)
	return binary.LittleEndian.AppendUint32(b, r.Color)
}

func parseRow(b []byte) Row {
	return Row{
		Rank:  binary.LittleEndian.Uint32(b),
		key:   binary.LittleEndian.Uint32(b[4:]),
		Color: binary.LittleEndian.Uint32(b[8:]),
	}
}

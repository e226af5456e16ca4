package commsplit

import "testing"

// The cost of a look-up at the process that makes it: from its own part of the
// table, from the cache, and when a holder must be asked (without the message).
func BenchmarkFind(b *testing.B) {
	const total, parts, cached = 1 << 20, 64, 1 << 10
	table := func(process int) *Table {
		ranks := make([]uint32, total/parts)
		for i := range ranks {
			ranks[i] = uint32(mix(uint64(i)))
		}
		return newTable(total, split{parts, parts}, process, ranks, cached)
	}
	here, there := table(0), table(7)
	pl := Membership{Size: total, Home: Spread}
	first := uint32(7 * total / parts)
	b.Run("own part", func(b *testing.B) {
		for i := range b.N {
			if _, ok := here.Find(pl, uint32(i)%(total/parts)); !ok {
				b.Fatal("unknown")
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		const few = cached / 8
		for i := range uint32(few) {
			here.Learn(pl, first+i, i)
		}
		for i := range b.N {
			if _, ok := here.Find(pl, first+uint32(i)%few); !ok {
				b.Fatal("unknown")
			}
		}
	})
	b.Run("asked", func(b *testing.B) {
		for i := range b.N {
			r := first + uint32(i)%(total/parts)
			if _, ok := here.Find(pl, r); ok {
				continue
			}
			_, position := here.Holder(pl, r)
			old, _ := there.Answer(position)
			here.Learn(pl, r, old)
		}
	})
}

func BenchmarkMerge(b *testing.B) {
	const n = 1 << 14
	x, y, out := make([]Row, n), make([]Row, n), make([]Row, 2*n)
	for i := range x {
		x[i] = NewRow(0, int32(mix(uint64(i))), uint32(i))
		y[i] = NewRow(0, int32(mix(uint64(i+n))), uint32(i+n))
	}
	SortRows(x)
	SortRows(y)
	b.SetBytes(2 * n * RowBytes)
	for range b.N {
		Merge(out, x, y)
	}
}

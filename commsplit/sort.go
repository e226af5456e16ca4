package commsplit

import "slices"

// SortRows sorts a table by comparison, with the comparison that Merge uses.
func SortRows(table []Row) { slices.SortFunc(table, Compare) }

const (
	digitBits = 11
	buckets   = 1 << digitBits
	// smallTable is the size below which a radix sort's counters cost more than they
	// save.
	smallTable = 1 << 12
)

// RadixSort sorts a table by its 11-bit digits, least significant first, and
// leaves out every digit that is the same in all rows. spare is as long as
// table and is overwritten; the result is in one of the two, the other is free.
// Rows that come in rank order need no digits of the rank: the sort is stable.
func RadixSort(table, spare []Row) (sorted, free []Row) {
	if len(table) < smallTable {
		SortRows(table)
		return table, spare
	}
	byRank := slices.IsSortedFunc(table, func(a, b Row) int { return int(int64(a.Rank) - int64(b.Rank)) })
	if !byRank {
		table, spare = radixPasses(table, spare, func(r *Row) uint32 { return r.Rank })
	}
	table, spare = radixPasses(table, spare, func(r *Row) uint32 { return r.key })
	return radixPasses(table, spare, func(r *Row) uint32 { return r.Color })
}

func radixPasses(table, spare []Row, field func(*Row) uint32) (sorted, free []Row) {
	var varying uint32
	first := field(&table[0])
	for i := range table {
		varying |= field(&table[i]) ^ first
	}
	for shift := 0; shift < 32; shift += digitBits {
		if varying>>shift&(buckets-1) == 0 {
			continue
		}
		var at [buckets]int
		for i := range table {
			at[field(&table[i])>>shift&(buckets-1)]++
		}
		sum := 0
		for d, n := range at {
			at[d] = sum
			sum += n
		}
		for i := range table {
			d := field(&table[i]) >> shift & (buckets - 1)
			spare[at[d]] = table[i]
			at[d]++
		}
		table, spare = spare, table
	}
	return table, spare
}

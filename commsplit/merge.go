package commsplit

import "math/bits"

// Merge writes the rows of the sorted tables a and b to out, sorted. out has
// len(a)+len(b) rows and overlaps neither. Linear time. It merges from both ends
// at once: two chains of comparisons that do not wait for each other, without a
// branch that depends on the data, since random keys would mispredict every
// second one. Where all of a comes before b, they are copied.
func Merge(out, a, b []Row) {
	if len(a) == 0 || len(b) == 0 || before(&b[0], &a[len(a)-1]) == 0 { // already in order
		copy(out[copy(out, a):], b)
		return
	}
	i, j, lo := 0, 0, 0                             // the front: next to be taken, and where to
	p, q, hi := len(a)-1, len(b)-1, len(a)+len(b)-1 // the back
	// While both have rows, the least and the greatest of these are two.
	for i <= p && j <= q {
		x, y := &a[i], &b[j]
		t := int(before(y, x))
		if t != 0 {
			x = y
		}
		out[lo] = *x
		lo++
		i += 1 - t
		j += t

		x, y = &a[p], &b[q]
		t = int(before(y, x))
		if t != 0 {
			y = x
		}
		out[hi] = *y
		hi--
		p -= t
		q -= 1 - t
	}
	rest := out[lo : hi+1]
	copy(rest[copy(rest, a[i:p+1]):], b[j:q+1])
}

// MergeRuns sorts a table that consists of sorted runs, run i being
// table[bounds[i]:bounds[i+1]], by merging them pairwise: ⌈lg runs⌉ passes over
// the table [Sack 2.3.1, step 4]. Neighboring runs are merged
// depth first, so that all but the last passes find their rows in the cache.
// spare is as long as table and is overwritten; the result is in one of the
// two, the other is free.
func MergeRuns(table, spare []Row, bounds []int) (sorted, free []Row) {
	runs := len(bounds) - 1
	if runs < 2 {
		return table, spare
	}
	if bits.Len(uint(runs-1))%2 == 0 {
		mergeRuns(table, spare, bounds)
		return table, spare
	}
	mergeRunsInto(spare, table, bounds)
	return spare, table
}

// mergeRuns leaves the merged runs of table in table.
func mergeRuns(table, spare []Row, bounds []int) {
	if len(bounds) > 2 {
		mid := (len(bounds) - 1) / 2
		mergeRunsInto(spare, table, bounds[:mid+1])
		mergeRunsInto(spare, table, bounds[mid:])
		mergeHalves(table, spare, bounds, mid)
	}
}

// mergeRunsInto leaves the merged runs of table in dst.
func mergeRunsInto(dst, table []Row, bounds []int) {
	lo, hi := bounds[0], bounds[len(bounds)-1]
	if len(bounds) == 2 {
		copy(dst[lo:hi], table[lo:hi])
		return
	}
	mid := (len(bounds) - 1) / 2
	mergeRuns(table, dst, bounds[:mid+1])
	mergeRuns(table, dst, bounds[mid:])
	mergeHalves(dst, table, bounds, mid)
}

func mergeHalves(dst, src []Row, bounds []int, mid int) {
	lo, cut, hi := bounds[0], bounds[mid], bounds[len(bounds)-1]
	Merge(dst[lo:hi], src[lo:cut], src[cut:hi])
}

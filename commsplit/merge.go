package commsplit

import "math/bits"

// Merge writes the rows of the sorted tables a and b to out, sorted. out has
// len(a)+len(b) rows and overlaps neither. Linear time; the inner loop has no
// branch that depends on the data, since random keys would mispredict every
// second one.
func Merge(out, a, b []Row) {
	i, j := 0, 0
	for k := 0; i < len(a) && j < len(b) && k < len(out); k++ {
		x, y := &a[i], &b[j]
		t := before(y, x)
		if t != 0 {
			x = y
		}
		out[k] = *x
		i += int(1 - t)
		j += int(t)
	}
	rest := out[i+j:]
	copy(rest[copy(rest, a[i:]):], b[j:])
}

// MergeRuns sorts a table that consists of sorted runs, run i being
// table[bounds[i]:bounds[i+1]], by merging them pairwise: ⌈lg runs⌉ passes over
// the table (seed 001, section 2.3.1, step 4). Neighbouring runs are merged
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

package results

import "slices"

// Median is the middle one of values, of an even number the mean of the two in the
// middle; 0 of none. It leaves values as they are.
func Median[T ~int | ~int64 | ~float64](values []T) T {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

package flags

// Nearest returns the one of names that a misspelt name may stand for, "" if none is
// near.
func Nearest(names []string, name string) string {
	best, most := "", min(2, len(name)/3)+1
	for _, n := range names {
		if d := distance(name, n); d < most {
			best, most = n, d
		}
	}
	return best
}

// distance counts the characters to insert, delete, change or exchange with the next to
// turn a into b.
func distance(a, b string) int {
	var before []int // two characters of a ago
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

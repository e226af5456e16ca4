package commgraph

import (
	"strconv"

	"github.com/golaunch/golaunch/internal/lines"
)

// maxLine bounds a line of a file, in bytes: that of a rank with peers by the
// million fits.
const maxLine = 1 << 26

// readAmount reads a weight, which other programs write as 4, 4.0 or 4e3.
func readAmount(in *lines.Reader, word string) (int64, error) {
	if n, err := strconv.ParseInt(word, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	x, err := strconv.ParseFloat(word, 64)
	if err != nil || !(x >= 0 && x <= 1<<53) || x != float64(int64(x)) {
		return 0, in.Expected(word, "a weight, a whole number from 0 on")
	}
	return int64(x), nil
}

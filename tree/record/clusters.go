package record

import (
	"encoding/binary"
	"fmt"
	"math"
)

// AppendClusters appends switch clusters: a number for each depth from 1, as unsigned
// varints.
func AppendClusters(b []byte, numbers []int) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// ParseClusters reads such numbers.
func ParseClusters(b []byte) ([]int, error) {
	var numbers []int
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errShort
		}
		if v > math.MaxInt32 {
			return nil, fmt.Errorf("switch cluster %d does not exist", v)
		}
		numbers, b = append(numbers, int(v)), b[n:]
	}
	return numbers, nil
}

package record

import (
	"encoding/binary"
	"fmt"
)

// AppendRuns appends a list of endpoints as runs of consecutive ones: for each
// its first endpoint and its length, as unsigned varints.
func AppendRuns(b []byte, list []int) []byte {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n] == list[0]+n {
			n++
		}
		b = binary.AppendUvarint(b, uint64(list[0]))
		b = binary.AppendUvarint(b, uint64(n))
		list = list[n:]
	}
	return b
}

// ParseRuns reads such a list, of endpoints below limit.
func ParseRuns(b []byte, limit int) ([]int, error) {
	var list []int
	for len(b) > 0 {
		first, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errShort
		}
		b = b[n:]
		length, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errShort
		}
		b = b[n:]
		if first >= uint64(limit) || length == 0 || length > uint64(limit)-first || len(list)+int(length) > limit {
			return nil, fmt.Errorf("a list of endpoints names %d from %d on, of %d", length, first, limit)
		}
		for i := range int(length) {
			list = append(list, int(first)+i)
		}
	}
	return list, nil
}

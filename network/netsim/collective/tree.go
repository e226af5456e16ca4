package collective

import (
	"fmt"

	"github.com/golaunch/golaunch/network/netsim"
)

// tree returns a broadcast down the k-nomial tree below the root: in each stage, those
// that have the vector send it to up to k-1 others, the farthest first. Each
// message has the parts that relative gives, of the ranks first to end-1 counted
// from the root.
func tree(ranks int, root int32, k int, transfer func(from, to int32, first, end int) Transfer) []Stage {
	var list []Stage
	farthest := 1
	for farthest*k < ranks {
		farthest *= k
	}
	for power := farthest; power > 0 && ranks > 1; power /= k {
		list = append(list, Stage{Name: fmt.Sprintf("distance %d", power), Flows: []Flow{{1, func(list []Transfer, _ int) []Transfer {
			for q := 0; q < ranks; q += power * k {
				for child := q + power; child < min(q+power*k, ranks); child += power {
					from, to := (q+int(root))%ranks, (child+int(root))%ranks
					if t := transfer(int32(from), int32(to), child, min(child+power, ranks)); t.Size > 0 {
						list = append(list, t)
					}
				}
			}
			return list
		}}}})
	}
	return list
}

// broadcast returns the k-nomial tree for the whole vector [Sack 3.1]. From the
// highest rank bit down, it is the order that keeps the messages of a stage apart
// on a mesh of powers of two and on a Clos network [Sack 3.2.1].
func broadcast(ranks int, root int32, k int, bytes int64) []Stage {
	return tree(ranks, root, k, func(from, to int32, _, _ int) Transfer {
		return Transfer{netsim.Message{From: from, To: to, Size: bytes}, 0}
	})
}

// scatter returns the k-nomial tree where each message has the parts of the ranks
// below its receiver.
func scatter(ranks int, root int32, k int, unit, bytes int64) []Stage {
	l := layout{ranks, unit, bytes}
	return tree(ranks, root, k, func(from, to int32, first, end int) Transfer {
		return l.transfer(from, to, (first+int(root))%ranks, end-first)
	})
}

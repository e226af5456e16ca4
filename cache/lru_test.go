package cache

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The LRU against a list that is searched from end to end.
func TestLRUAgainstAList(t *testing.T) {
	type entry struct {
		key, value string
		absent     bool
		epoch      Epoch
	}
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.IntRange(0, 4*slotCost).Draw(t, "budget")
		l := newLRU(budget)
		var list []entry // used last first
		take := func(key string) (e entry, found bool) {
			i := slices.IndexFunc(list, func(e entry) bool { return e.key == key })
			if i < 0 {
				return e, false
			}
			e = list[i]
			list = slices.Delete(list, i, i+1)
			return e, true
		}
		add := func(e entry) {
			take(e.key)
			if len(e.key)+len(e.value)+slotCost > budget {
				return
			}
			list = slices.Insert(list, 0, e)
			for cost(list, func(e entry) int { return len(e.key) + len(e.value) }) > budget {
				list = list[:len(list)-1]
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "b", "c", "d", "eeeeeeeeeeee"}).Draw(t, "key")
			value := strings.Repeat("v", rapid.IntRange(0, slotCost).Draw(t, "length"))
			epoch := Epoch(rapid.IntRange(0, 1).Draw(t, "epoch"))
			switch rapid.IntRange(0, 5).Draw(t, "action") {
			case 0, 1:
				l.put([]byte(key), []byte(value))
				add(entry{key: key, value: value})
			case 2:
				l.miss([]byte(key), epoch)
				add(entry{key: key, absent: true, epoch: epoch})
			case 3:
				l.drop([]byte(key))
				take(key)
			default:
				value, found, known := l.get([]byte(key), epoch)
				i := slices.IndexFunc(list, func(e entry) bool { return e.key == key && (!e.absent || e.epoch == epoch) })
				require.Equal(t, i >= 0, known)
				if known {
					e, _ := take(key)
					require.Equal(t, e.value, value)
					require.Equal(t, !e.absent, found)
					list = slices.Insert(list, 0, e)
				}
			}
			require.Len(t, l.index, len(list))
			require.Equal(t, cost(list, func(e entry) int { return len(e.key) + len(e.value) }), l.bytes)
		}
	})
}

func cost[E any](list []E, of func(E) int) int {
	sum := 0
	for _, e := range list {
		sum += of(e) + slotCost
	}
	return sum
}

package cache

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lists is an lru that is too simple to be wrong: two lists, used last first.
type lists struct {
	budget          int
	stage           Epoch
	stages, answers []listed
}

type listed struct {
	key, value string
	absent     bool
	epoch      Epoch
}

func (e listed) cost() int { return len(e.key) + len(e.value) + slotCost }

func sum(list []listed) (n int) {
	for _, e := range list {
		n += e.cost()
	}
	return n
}

// take removes and returns a key's entry and the list that it was in.
func (l *lists) take(key string) (e listed, in *[]listed) {
	for _, list := range []*[]listed{&l.stages, &l.answers} {
		if i := slices.IndexFunc(*list, func(e listed) bool { return e.key == key }); i >= 0 {
			e = (*list)[i]
			*list = slices.Delete(*list, i, i+1)
			return e, list
		}
	}
	return e, nil
}

func (l *lists) add(e listed, answer, own bool) {
	l.take(e.key)
	if e.cost() > l.budget {
		return
	}
	for sum(l.stages)+sum(l.answers)+e.cost() > l.budget {
		s, a := len(l.stages), len(l.answers)
		old := s > 0 && l.stages[s-1].epoch < l.stage
		switch {
		case old:
			l.stages = l.stages[:s-1]
		case answer && s > 0 && (a == 0 || sum(l.answers)+e.cost() <= l.budget/8):
			l.stages = l.stages[:s-1]
		case a > 0:
			l.answers = l.answers[:a-1]
		case own:
			l.stages = l.stages[:s-1]
		default:
			return
		}
	}
	if answer {
		l.answers = slices.Insert(l.answers, 0, e)
	} else {
		l.stages = slices.Insert(l.stages, 0, e)
	}
}

// The LRU against lists that are searched from end to end.
func TestLRUAgainstLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLRU(rapid.IntRange(0, 12*slotCost).Draw(t, "budget"))
		naive := lists{budget: l.budget}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "b", "c", "d", "eeeeeeeeeeee", "f", "g", "h", "i", "j"}).Draw(t, "key")
			value := strings.Repeat("v", rapid.IntRange(0, slotCost).Draw(t, "length"))
			epoch := Epoch(rapid.IntRange(0, 2).Draw(t, "epoch"))
			own := rapid.Bool().Draw(t, "own")
			switch rapid.IntRange(0, 7).Draw(t, "action") {
			case 0, 1, 2:
				l.put([]byte(key), []byte(value), epoch, own)
				naive.stage = max(naive.stage, epoch)
				naive.add(listed{key: key, value: value, epoch: epoch}, false, own)
			case 3:
				l.learn([]byte(key), []byte(value))
				naive.add(listed{key: key, value: value}, true, false)
			case 4:
				l.miss([]byte(key), epoch)
				naive.add(listed{key: key, absent: true, epoch: epoch}, true, false)
			case 5:
				l.drop([]byte(key))
				naive.take(key)
			default:
				value, found, known := l.get([]byte(key), epoch)
				is := func(e listed) bool { return e.key == key && (!e.absent || e.epoch == epoch) }
				require.Equal(t, slices.ContainsFunc(naive.stages, is) || slices.ContainsFunc(naive.answers, is), known)
				if known {
					e, in := naive.take(key)
					require.Equal(t, e.value, value)
					require.Equal(t, !e.absent, found)
					*in = slices.Insert(*in, 0, e)
				}
			}
			require.Equal(t, len(naive.stages)+len(naive.answers), len(l.index))
			require.Equal(t, sum(naive.stages)+sum(naive.answers), l.bytes)
			require.LessOrEqual(t, l.bytes, l.budget)
			for _, e := range append(slices.Clone(naive.stages), naive.answers...) {
				require.Contains(t, l.index, e.key)
			}
		}
	})
}

// Of a stage beyond the budget as much stays as fits, though ranks ask for all
// of it in order; the next stage drives it out.
func TestLRUResistsScans(t *testing.T) {
	key := func(stage, i int) []byte { return fmt.Appendf(nil, "%d-%03d", stage, i) }
	const room, keys = 80, 160
	l := newLRU(room * (slotCost + 6))
	for stage := 1; stage <= 3; stage++ {
		for i := range keys {
			l.put(key(stage, i), []byte("v"), Epoch(stage), false)
		}
		l.put(key(stage, keys), []byte("v"), Epoch(stage), true)
		for scan := range 3 {
			hits := 0
			for i := range keys + 1 {
				if _, _, known := l.get(key(stage, i), Epoch(stage)); known {
					hits++
				} else {
					l.learn(key(stage, i), []byte("v"))
				}
			}
			require.GreaterOrEqual(t, hits, room*7/8-1, "stage %d, scan %d", stage, scan)
		}
		_, _, known := l.get(key(stage, keys), Epoch(stage))
		require.True(t, known, "what this node has put")
		_, _, known = l.get(key(stage-1, 0), Epoch(stage))
		require.False(t, known, "what is of an earlier stage")
	}
}

package event

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Things happen in the order of their times, and of the calls where these are
// the same; also those that others make.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type thing struct {
			at   time.Duration
			call int
		}
		var q Queue
		var happened, asked []thing
		var add func(depth int)
		add = func(depth int) {
			d := time.Duration(rapid.IntRange(-1, 5).Draw(t, "d"))
			me := thing{q.Now() + max(d, 0), len(asked)}
			asked = append(asked, me)
			q.After(d, func() {
				require.Equal(t, me.at, q.Now())
				happened = append(happened, me)
				if depth > 0 {
					add(depth - 1)
				}
			})
		}
		for range rapid.IntRange(0, 30).Draw(t, "things") {
			add(rapid.IntRange(0, 3).Draw(t, "depth"))
		}
		for q.Step() {
		}
		slices.SortFunc(asked, func(x, y thing) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.call, y.call)) })
		require.Equal(t, asked, happened)
	})
}

package commsplit

import (
	"runtime"
	"time"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/integration/internal/results"
)

func collectGarbage() { runtime.GC() }

// conventional is the processor time of one process that has gathered all n
// rows and now scans them for its colour and sorts these: by comparison, and by
// digits. Gathering costs it nothing here, as if the network wrote the table.
type conventional struct{ filter, compare, radix time.Duration }

// faster returns the time with the faster of the two sorts.
func (c conventional) faster() time.Duration { return c.filter + min(c.compare, c.radix) }

func measureConventional(m *arena, n, colors, runs int) conventional {
	var filter, compare, radix []time.Duration
	for range runs {
		table := m.fill(n, colors)
		mine := []uint32{table[0].Color}
		var found []commsplit.Row
		collectGarbage()
		filter = append(filter, timed(func() { found = commsplit.Filter(m.a[:0], table, mine) }))
		radix = append(radix, timed(func() { commsplit.RadixSort(found, m.b[:len(found)]) }))
		found = commsplit.Filter(m.a[:0], table, mine)
		compare = append(compare, timed(func() { commsplit.SortRows(found) }))
	}
	return conventional{results.Median(filter), results.Median(compare), results.Median(radix)}
}

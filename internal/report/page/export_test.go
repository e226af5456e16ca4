package page

import "encoding/binary"

// Cell is a cell as a test sees it.
type Cell struct {
	From, To, Class          int
	Messages, Bytes, Nanosec int64
}

// Decoded returns the cells of a grain, as the script of the page decodes them.
func (p *Page) Decoded(g Grain) (cells []Cell) {
	at := p.blob[g.Data.At : g.Data.At+g.Data.Size]
	next := func() uint64 {
		n, size := binary.Uvarint(at)
		at = at[size:]
		return n
	}
	type kind struct {
		class int
		a     [3]int64
	}
	kinds := make([]kind, next())
	for i := range kinds {
		kinds[i].class = int(next())
		for k := range kinds[i].a {
			kinds[i].a[k] = int64(next())
		}
	}
	for from := range (g.Count + g.Per - 1) / g.Per {
		for range next() {
			cells = append(cells, Cell{From: from})
		}
	}
	for i := range cells {
		before := cells[i].From
		if i > 0 && cells[i-1].From == cells[i].From {
			before = cells[i-1].To
		}
		step, size := binary.Varint(at)
		at = at[size:]
		cells[i].To = before + int(step)
	}
	for i := range cells {
		k := kinds[next()]
		cells[i].Class, cells[i].Messages, cells[i].Bytes, cells[i].Nanosec = k.class, k.a[0], k.a[1], k.a[2]
	}
	if len(at) > 0 || len(cells) != g.Cells {
		panic("the part has something else behind its cells")
	}
	return cells
}

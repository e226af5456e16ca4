package topology

import (
	"cmp"
	"errors"
	"slices"
)

// recognizeCray looks for groups whose routers are in rows: all of a row are
// joined to each other, as are all of a column. Rows have to be longer than
// columns. Common and most are those of fabric.commons.
func recognizeCray(g *Graph, f *fabric, common []int, most int) (*Dragonfly, error) {
	rows := newSets(len(f.peers))
	f.each(func(s, t int, e int32) {
		if most > 0 && 2*common[e] > most {
			rows.join(int32(s), int32(t))
		}
	})
	row := make([]int32, len(f.peers))
	length := map[int32]int{}
	for s := range f.peers {
		row[s] = rows.find(int32(s))
		length[row[s]]++
	}
	// Two rows of one group have as many cables between them as a row has routers;
	// of different groups hardly any.
	between := map[[2]int32]int{}
	f.each(func(s, t int, _ int32) {
		if a, b := row[s], row[t]; a != b {
			between[[2]int32{min(a, b), max(a, b)}]++
		}
	})
	near := map[int32]map[int32]bool{}
	for pair, n := range between {
		if 2*n > max(length[pair[0]], length[pair[1]]) {
			for i, r := range pair {
				if near[r] == nil {
					near[r] = map[int32]bool{}
				}
				near[r][pair[1-i]] = true
			}
		}
	}
	// Rows of one group are near the same rows; where a group has all its cables
	// to one other, only two are near each other.
	shared := func(a, b int32) (n int) {
		for r := range near[a] {
			if near[b][r] {
				n++
			}
		}
		return n
	}
	together := 0
	for a := range near {
		for b := range near[a] {
			together = max(together, shared(a, b))
		}
	}
	groups := newSets(len(f.peers))
	columns := newSets(len(f.peers))
	f.each(func(s, t int, _ int32) {
		if a, b := row[s], row[t]; a != b && near[a][b] && 2*shared(a, b) >= together {
			groups.join(a, b)
			columns.join(int32(s), int32(t))
		}
	})
	return f.cray(g, row, length, groups, columns)
}

// cray numbers groups, rows and columns, and makes the family.
func (f *fabric) cray(g *Graph, row []int32, length map[int32]int, groups, columns sets) (*Dragonfly, error) {
	group, rowOf := map[int32]int{}, map[int32]int{}
	rowsIn := map[int]int{}
	d := Layout{P: f.hosts, H: 1}
	slots := 0
	for s := range f.peers {
		if len(f.peers[s]) == 0 {
			continue
		}
		in := groups.find(row[s])
		if _, ok := group[in]; !ok {
			group[in] = len(group)
		}
		if _, ok := rowOf[row[s]]; !ok {
			rowOf[row[s]] = rowsIn[group[in]]
			rowsIn[group[in]]++
		}
		d.Chassis = max(d.Chassis, rowsIn[group[in]])
		slots = max(slots, length[row[s]])
	}
	d.G, d.A = len(group), d.Chassis*slots
	if d.Chassis < 2 || slots < 3 {
		return nil, errors.New("its groups have no rows and columns")
	}
	// A group's columns are numbered in the order of its longest row.
	longest := map[int]int32{}
	for _, r := range slices.Sorted(slices.Values(row)) {
		in := group[groups.find(r)]
		if best, ok := longest[in]; !ok || cmp.Compare(length[r], length[best]) > 0 {
			longest[in] = r
		}
	}
	column, next := map[int32]int{}, map[int]int{}
	for pass := range 2 {
		for s := range f.peers {
			in := group[groups.find(row[s])]
			if c := columns.find(int32(s)); len(f.peers[s]) > 0 && (pass == 1 || row[s] == longest[in]) {
				if _, ok := column[c]; !ok {
					column[c] = next[in]
					next[in]++
				}
			}
		}
	}
	index := make([]int32, len(f.peers))
	for s := range f.peers {
		if len(f.peers[s]) == 0 {
			index[s] = -1
			continue
		}
		in, c := group[groups.find(row[s])], column[columns.find(int32(s))]
		if c >= slots {
			return nil, errors.New("a group has more columns than its rows are long")
		}
		index[s] = int32(in*d.A + rowOf[row[s]]*slots + c)
		global := 0
		for _, p := range g.Ports(g.Switch(s)) {
			if !g.IsHost(p.Peer) && group[groups.find(row[g.SwitchIndex(p.Peer)])] != in {
				global++
			}
		}
		d.H = max(d.H, global)
	}
	return NewDragonfly(g, d, index)
}

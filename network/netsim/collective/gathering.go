package collective

import "github.com/golaunch/golaunch/network/netsim"

// gathering is a way to allgather as many parts of one size as there are ranks.
type gathering struct {
	at     []int32 // the part that each rank begins with
	phases []phase
}

// phase is a stage of a gathering.
type phase struct {
	name  string
	flows []flow
}

// flow is as Flow, but in parts instead of bytes.
type flow struct {
	repeat int
	pieces func(list []piece, r int) []piece
}

// piece is a message with count parts from first on, around.
type piece struct {
	from, to     int32
	first, count int
}

// singlePhase returns a phase whose messages are sent once.
func singlePhase(name string, pieces func(list []piece) []piece) phase {
	return phase{name, []flow{{1, func(list []piece, _ int) []piece { return pieces(list) }}}}
}

// identity returns the numbers 0..n-1.
func identity(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// layout is a vector of so many parts; the last are cut at its end.
type layout struct {
	parts       int
	unit, bytes int64
}

// transfer returns the message with the bytes of count parts from first on, around.
func (l layout) transfer(from, to int32, first, count int) Transfer {
	at := min(int64(first)*l.unit, l.bytes)
	size := min(int64(first+count)*l.unit, l.bytes) - at
	if over := first + count - l.parts; over > 0 {
		size += min(int64(over)*l.unit, l.bytes)
	}
	if at == l.bytes {
		at = 0
	}
	return Transfer{netsim.Message{From: from, To: to, Size: size}, at}
}

// flow returns the messages of f, whose parts begin with part base of the vector.
func (l layout) flow(f flow, base int) Flow {
	var pieces []piece
	return Flow{f.repeat, func(list []Transfer, r int) []Transfer {
		pieces = f.pieces(pieces[:0], r)
		for _, p := range pieces {
			if t := l.transfer(p.from, p.to, base+p.first, p.count); t.Size > 0 {
				list = append(list, t)
			}
		}
		return list
	}}
}

// stages returns those of an allgather in one or several ways at once, each for its
// share of a vector of ranks times unit bytes, cut at bytes.
//
// The vector is divided into as many sections for each rank as there are ways:
// section s goes the way s / ranks, where it is part s mod ranks, so that each
// way fills a run of the vector [Sack 3.4.2]. The stages that restore the order bring the
// sections to the ranks that begin with them. Where unit is no multiple of the
// ways, sections are rounded up, and a stage before moves inputs to lower ranks,
// so that each has whole sections.
func stages(ways []gathering, ranks int, unit, bytes int64) []Stage {
	k := len(ways)
	whole := layout{k * ranks, (unit + int64(k) - 1) / int64(k), bytes}
	var list []Stage
	if unit%int64(k) != 0 {
		list = append(list, Stage{Name: "round", Restores: true, Flows: []Flow{{1, func(list []Transfer, _ int) []Transfer {
			return appendRounding(list, ranks, unit, whole.unit*int64(k), bytes)
		}}}})
	}
	if begins := beginnings(ways, ranks); begins != nil {
		list = append(list, Stage{Name: "restore", Restores: true, Flows: []Flow{whole.flow(flow{1, func(pieces []piece, _ int) []piece {
			for s := range k * ranks {
				if from, to := int32(s/k), begins[s/ranks][s%ranks]; from != to {
					pieces = append(pieces, piece{from: from, to: to, first: s, count: 1})
				}
			}
			return pieces
		}}, 0)}})
	}
	for n := 0; ; n++ {
		s := Stage{}
		more := false
		for b, w := range ways {
			if n >= len(w.phases) {
				continue
			}
			more = true
			if s.Name == "" {
				s.Name = w.phases[n].name
			}
			for _, f := range w.phases[n].flows {
				if f.repeat > 0 {
					s.Flows = append(s.Flows, whole.flow(f, b*ranks))
				}
			}
		}
		if !more {
			return list
		}
		if len(s.Flows) > 0 {
			list = append(list, s)
		}
	}
}

// beginnings is, for each way, the rank that begins with each part; nil if that is
// the rank of the same number for the only way.
func beginnings(ways []gathering, ranks int) [][]int32 {
	moves := len(ways) > 1
	begins := make([][]int32, len(ways))
	for b, w := range ways {
		begins[b] = make([]int32, ranks)
		for i, part := range w.at {
			begins[b][part] = int32(i)
			moves = moves || i != int(part)
		}
	}
	if !moves {
		return nil
	}
	return begins
}

// appendRounding appends the messages by which rank i, which has the bytes from
// i times unit on, comes to have those from i times rounded on.
func appendRounding(list []Transfer, ranks int, unit, rounded, bytes int64) []Transfer {
	for to := range int64(ranks) {
		end := min((to+1)*rounded, bytes)
		for at := to * rounded; at < end; {
			from := at / unit
			next := min(end, (from+1)*unit)
			if from != to {
				list = append(list, Transfer{netsim.Message{From: int32(from), To: int32(to), Size: next - at}, at})
			}
			at = next
		}
	}
	return list
}

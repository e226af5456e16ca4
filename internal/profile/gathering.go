package profile

import (
	"cmp"
	"fmt"
	"slices"
)

// Gathering puts the parts of a world's ranks together, in whichever order they
// come.
type Gathering struct {
	size          int
	mpi           string
	states        []State
	dropped       int64
	sent          []Sent
	outside       map[int32]Counts
	communicators map[uint64]*gathered
	collectives   map[collectiveKey]*gatheredCalls
}

// gathered collects the ranks' records of a communicator.
type gathered struct {
	id    uint64
	size  int32
	told  map[int32]int32 // the rank that has claimed each place: no more than have
	ranks []int32         // all, in order, once that is known
	wrong bool            // ranks contradict each other
}

type collectiveKey struct {
	of        Operation
	id        uint64
	root      int32
	sizeClass int32
}

type gatheredCalls struct {
	byRank int64 // the most that a rank has called it
	Counts       // of all ranks
}

// NewGathering begins with a world of so many ranks.
func NewGathering(size int) *Gathering {
	return &Gathering{
		size: size, states: make([]State, size), outside: map[int32]Counts{},
		communicators: map[uint64]*gathered{}, collectives: map[collectiveKey]*gatheredCalls{},
	}
}

// Add takes a part. The error names an impossible value.
func (g *Gathering) Add(p *Part) error {
	if err := p.Check(g.size); err != nil {
		return err
	}
	g.states[p.Rank] = max(g.states[p.Rank], p.State)
	if g.mpi == "" {
		g.mpi = p.MPI
	}
	g.dropped = min(g.dropped+p.Dropped, most)
	if len(p.Outside) > 0 {
		c := g.outside[p.Rank]
		c.Add(Counts{p.Outside[0], p.Outside[1], p.Outside[2]})
		g.outside[p.Rank] = c
	}
	for e := p.Sent; len(e) > 0; e = e[entryLength:] {
		g.sent = append(g.sent, Sent{p.Rank, int32(e[0]), Counts{e[1], e[2], e[3]}})
	}
	for e := p.Got; len(e) > 0; e = e[entryLength:] {
		g.sent = append(g.sent, Sent{int32(e[0]), p.Rank, Counts{e[1], e[2], e[3]}})
	}
	for m := p.Members; len(m) > 0; m = m[memberLength:] {
		g.member(p.Rank, Member{Communicator: p.Of[m[0]], Rank: int32(m[1]), Size: int32(m[2]), Inter: m[3] == 1})
	}
	for c := p.Calls; len(c) > 0; c = c[callLength:] {
		key := collectiveKey{of: Operation(c[1]), id: p.Of[c[0]], root: int32(c[2]), sizeClass: int32(c[3])}
		all := g.collectives[key]
		if all == nil {
			all = &gatheredCalls{}
			g.collectives[key] = all
		}
		all.byRank = max(all.byRank, c[4])
		all.Add(Counts{c[4], c[5], c[6]})
	}
	return nil
}

// member notes which rank a communicator has at a place.
func (g *Gathering) member(rank int32, m Member) {
	c := g.communicators[m.Communicator]
	if c == nil {
		c = &gathered{id: m.Communicator, size: m.Size, told: map[int32]int32{}, wrong: m.Inter}
		g.communicators[m.Communicator] = c
	}
	if other, told := c.told[m.Rank]; m.Size != c.size || told && other != rank {
		c.wrong = true
	}
	if !c.wrong {
		c.told[m.Rank] = rank
	}
}

// World returns the parts that have come so far. The hosts of ranks are left to fill
// in. The Gathering is of no use any more.
func (g *Gathering) World() World {
	w := World{Size: g.size, MPI: g.mpi, Dropped: g.dropped, Sent: Joined(g.sent)}
	for r, s := range g.states {
		switch s {
		case Finished:
		case Counting:
			w.Unfinished = append(w.Unfinished, r)
		default:
			w.Missing = append(w.Missing, r)
		}
	}
	for r, c := range g.outside {
		w.Outside = append(w.Outside, Outside{r, c})
	}
	slices.SortFunc(w.Outside, func(a, b Outside) int { return cmp.Compare(a.Source, b.Source) })
	index := g.number(&w)
	for key, c := range g.collectives {
		i, ok := index[key.id]
		if !ok || int(key.root) > w.Communicators[i].Size { // no rank has said what it is, or it lacks that root
			w.Dropped += c.byRank
			continue
		}
		w.Collectives = append(w.Collectives, Collective{
			Call: key.of.String(), Communicator: i, Root: int(key.root) - 1,
			Calls: c.byRank, Bytes: c.Bytes, Nanoseconds: c.Nanoseconds, InSent: operations[key.of].parts,
		})
	}
	slices.SortFunc(w.Collectives, func(a, b Collective) int {
		return cmp.Or(cmp.Compare(a.Communicator, b.Communicator), cmp.Compare(a.Call, b.Call),
			cmp.Compare(a.Root, b.Root), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Calls, b.Calls))
	})
	return w
}

// number orders the communicators, the same way for the same job, and returns the
// index of each.
func (g *Gathering) number(w *World) map[uint64]int {
	list := make([]*gathered, 0, len(g.communicators))
	for _, c := range g.communicators {
		if !c.wrong && len(c.told) == int(c.size) {
			c.ranks = make([]int32, c.size)
			for place, rank := range c.told {
				c.ranks[place] = rank
			}
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *gathered) int {
		return cmp.Or(-cmp.Compare(a.size, b.size), slices.Compare(a.ranks, b.ranks), cmp.Compare(a.id, b.id))
	})
	index := map[uint64]int{}
	for i, c := range list {
		index[c.id] = i
		w.Communicators = append(w.Communicators, Communicator{Size: int(c.size), Ranks: runs(c.ranks)})
	}
	return index
}

// Joined sorts entries by source and destination, and adds those of one pair up. It
// takes sent over.
func Joined(sent []Sent) []Sent {
	slices.SortFunc(sent, func(a, b Sent) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination))
	})
	out := sent[:0]
	for _, s := range sent {
		if last := len(out) - 1; last >= 0 && out[last].Source == s.Source && out[last].Destination == s.Destination {
			out[last].Add(s.Counts)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Run is Count ranks: First, First + Step, ...
type Run struct{ First, Count, Step int }

// runs folds a list of ranks.
func runs(ranks []int32) []Run {
	var list []Run
	for _, r := range ranks {
		n := int(r)
		if last := len(list) - 1; last >= 0 {
			switch l := &list[last]; {
			case l.Count == 1 && n > l.First:
				l.Count, l.Step = 2, n-l.First
				continue
			case l.Count > 1 && n == l.First+l.Count*l.Step:
				l.Count++
				continue
			}
		}
		list = append(list, Run{n, 1, 1})
	}
	return list
}

// Members returns the ranks of the world that a communicator has, in the order of their
// numbers in it; nil if not all are known.
func (c *Communicator) Members() []int32 {
	var ranks []int32
	for _, r := range c.Ranks {
		for i := range r.Count {
			ranks = append(ranks, int32(r.First+i*r.Step))
		}
	}
	return ranks
}

// check reports impossible values in a communicator of a world of so many ranks.
func (c *Communicator) check(size int) error {
	n := 0
	for _, r := range c.Ranks {
		if r.Count < 1 || r.Count > size || r.Step < 1 || r.Step > size || r.First < 0 || r.First+(r.Count-1)*r.Step >= size {
			return fmt.Errorf("a communicator has %d ranks from %d in steps of %d: expected some of 0 to %d", r.Count, r.First, r.Step, size-1)
		}
		n += r.Count
	}
	if c.Size < 1 || len(c.Ranks) > 0 && (n != c.Size || n > size) {
		return fmt.Errorf("a communicator of %d ranks names %d, in a world of %d", c.Size, n, size)
	}
	return nil
}

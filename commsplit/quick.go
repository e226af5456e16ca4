package commsplit

import (
	"fmt"
	"slices"
)

const (
	tagPlaces Tag = (0x220 + iota) << 16
	tagTell
	tagStages // each stage of the quicksort has stageTags of them
)

// Steps of one stage of the quicksort.
const (
	stepSample = iota
	stepPivot
	stepCount
	stepOffset
	stepMove
	stepSorted
	stageTags
)

// pivotSample is the number of rows whose median is the pivot, and of rows that one
// process sorts.
const pivotSample = 15

// Quick computes a split for one rank per process, rank i at process i, by a parallel
// quicksort in which each process holds one row at all times (after Siebert and Wolf
// 2010; [Sack 2.3.3]). A range of processes agrees on a pivot, the median of 15 random
// rows, counts which rows come before it, and moves these to its front; both parts go
// on as ranges of their own. It takes O(lg² n) rounds with high probability; a process
// sends O(lg n) messages a stage, of at most 15 rows. The table ends up spread over all
// processes, one row at each, for any Config.Parts.
type Quick struct {
	script
	config Config
	own    Row
	row    Row // the one held just now
	sweep
	stage   int
	sample  []Row
	pivot   Row
	counts  []int // rows before the pivot: in each child's subtree
	before  int   // rows before the pivot on the range's processes before this one
	smaller int   // in the whole range
	scan    scan
	result  Result
}

// NewQuick returns the part of one process. rows must be that of the rank with
// the process's number.
func NewQuick(config Config, process int, rows []Row) (*Quick, error) {
	config.Sorters, config.Parts, config.Ranks = 1, config.Processes, config.Processes
	if err := config.check(process); err != nil {
		return nil, err
	}
	if len(rows) != 1 || int(rows[0].Rank) != process {
		return nil, fmt.Errorf("commsplit: quicksort wants process %d to have rank %d and no other", process, process)
	}
	q := &Quick{config: config, own: rows[0], row: rows[0], sweep: sweep{process, 0, config.Processes}}
	q.script.id, q.limits = process, config.limits()
	q.next = q.gatherSample
	return q, nil
}

// Result returns the outcome, once the machine is done.
func (q *Quick) Result() Result { return q.result }

func (q *Quick) tag(step int) Tag { return tagStages + Tag(q.stage*stageTags+step) }

// gatherSample collects pivotSample of the range's rows at its root, chosen by a
// hash of their ranks and of the stage.
func (q *Quick) gatherSample(_ []Message, _ *Outbox) stage {
	if q.hi-q.lo == 1 {
		return q.sorted
	}
	return q.up(q.tag(stepSample), func(in []Message) Message {
		q.sample = append(q.sample[:0], q.row)
		for _, m := range in {
			q.sample = append(q.sample, m.Rows...)
		}
		q.holds(2 + len(q.sample))
		if q.hi-q.lo > pivotSample && len(q.sample) > pivotSample {
			salt := uint64(q.stage+1) << 32
			slices.SortFunc(q.sample, func(a, b Row) int {
				if mix(salt+uint64(a.Rank)) < mix(salt+uint64(b.Rank)) {
					return -1
				}
				return 1
			})
			q.sample = q.sample[:pivotSample]
		}
		return Message{Rows: slices.Clone(q.sample)}
	}, q.choose)
}

// choose ends a small range, whose root has all its rows now, and starts the
// next step of a large one.
func (q *Quick) choose(_ []Message, out *Outbox) stage {
	if q.hi-q.lo > pivotSample {
		return q.down(q.tag(stepPivot), q.takePivot, q.count)
	}
	if !q.root() {
		out.await(q.tag(stepSorted), 1)
		return func(in []Message, _ *Outbox) stage {
			q.row = in[0].Rows[0]
			return q.sorted
		}
	}
	if len(q.sample) != q.hi-q.lo {
		return q.fail("%d rows of %d processes", len(q.sample), q.hi-q.lo)
	}
	SortRows(q.sample)
	q.row = q.sample[0]
	for i := q.lo + 1; i < q.hi; i++ {
		out.send(Message{To: i, Tag: q.tag(stepSorted), Rows: []Row{q.sample[i-q.lo]}})
	}
	return q.sorted
}

func (q *Quick) takePivot(m Message) []Message {
	if q.root() {
		SortRows(q.sample)
		q.pivot = q.sample[len(q.sample)/2]
	} else {
		q.pivot = m.Rows[0]
	}
	return slices.Repeat([]Message{{Rows: []Row{q.pivot}}}, len(q.children()))
}

// count sums up, over subtrees, the rows that come before the pivot.
func (q *Quick) count(_ []Message, _ *Outbox) stage {
	return q.up(q.tag(stepCount), func(in []Message) Message {
		sum := before(&q.row, &q.pivot)
		q.counts = q.counts[:0]
		for _, m := range in {
			q.counts = append(q.counts, int(m.Words[0]))
			sum += m.Words[0]
		}
		q.before, q.smaller = 0, int(sum) // true at the root
		return Message{Words: []uint64{sum}}
	}, q.down(q.tag(stepOffset), q.takeOffset, q.move))
}

// takeOffset hands each child the number of rows that come before the pivot in
// front of its subtree.
func (q *Quick) takeOffset(m Message) []Message {
	if !q.root() {
		q.before, q.smaller = int(m.Words[0]), int(m.Words[1])
	}
	sum := q.before + int(before(&q.row, &q.pivot))
	list := make([]Message, len(q.counts))
	for i, n := range q.counts {
		list[i].Words = []uint64{uint64(sum), uint64(q.smaller)}
		sum += n
	}
	return list
}

// move sends the row to where it belongs: the rows before the pivot to the front
// of the range, the others behind, each in their present order.
func (q *Quick) move(_ []Message, out *Outbox) stage {
	to := q.lo + q.before
	if before(&q.row, &q.pivot) == 0 {
		to = q.lo + q.smaller + (q.sweep.id - q.lo - q.before)
	}
	tag := q.tag(stepMove)
	if to < q.lo || to >= q.hi || q.smaller < 1 || q.smaller >= q.hi-q.lo || q.stage >= maxRounds {
		return q.fail("a pivot that does not part %d rows", q.hi-q.lo)
	}
	if to != q.sweep.id {
		out.send(Message{To: to, Tag: tag, Rows: []Row{q.row}})
		out.await(tag, 1)
	}
	return func(in []Message, _ *Outbox) stage {
		if len(in) > 0 {
			q.row = in[0].Rows[0]
		}
		if mid := q.lo + q.smaller; q.sweep.id < mid {
			q.hi = mid
		} else {
			q.lo = mid
		}
		q.stage++
		return q.gatherSample
	}
}

// sorted finds where the row's class begins and ends, by a scan over the
// positions, in which every class is a range.
func (q *Quick) sorted(_ []Message, _ *Outbox) stage {
	id := q.script.id
	own := summarize([]Row{NewRow(q.row.Color, 0, uint32(id))})
	q.scan = scan{id: id, cube: newCube(q.config.Processes), tag: tagPlaces, own: own, then: q.tell}
	return q.scan.begin
}

// tell sends its membership to the rank.
func (q *Quick) tell(_ []Message, out *Outbox) stage {
	id := q.script.id
	position, color := uint32(id), q.row.Color
	start, end := position, position+1
	if b := q.scan.before; b.defined > 0 && b.last.color == color {
		start = b.last.start
	}
	if a := q.scan.after; a.defined > 0 && a.first.color == color {
		end = a.first.end
	}
	pl := Membership{Rank: q.row.Rank, New: position - start, Size: end - start, Base: start}
	if color == Undefined {
		pl = Membership{Rank: q.row.Rank}
	}
	own := Message{From: id, Words: pl.append([]uint64{uint64(q.scan.all().defined)})}
	if int(pl.Rank) == id {
		return func(_ []Message, _ *Outbox) stage { return q.finish([]Message{own}) }
	}
	if int(pl.Rank) >= q.config.Processes {
		return q.fail("a row of rank %d", pl.Rank)
	}
	own.To, own.Tag = int(pl.Rank), tagTell
	out.send(own)
	out.await(tagTell, 1)
	return func(in []Message, _ *Outbox) stage { return q.finish(in) }
}

func (q *Quick) finish(in []Message) stage {
	total := int(in[0].Words[0])
	if total > q.config.Processes {
		return q.fail("%d rows", total)
	}
	parts := split{q.config.Processes, q.config.Processes}
	var part []uint32
	if lo, hi := partRange(total, parts, q.script.id); lo < hi {
		part = []uint32{q.row.Rank}
	}
	pl := parseMembership(in[0].Words[1:])
	if q.err = q.limits.checkMemberships([]Row{q.own}, []Membership{pl}, total); q.err != nil {
		return nil
	}
	q.result = Result{[]Membership{pl}, newTable(total, parts, q.script.id, part, q.config.Cache)}
	return nil
}

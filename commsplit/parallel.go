package commsplit

import "slices"

// Steps of the parallel sort; messages of round r of a step have tag step + r.
const (
	tagProxy Tag = (1 + iota) << 16
	tagFold
	tagDouble
	tagUnfold
	tagCount
	tagProbe
	tagVerdict
	tagRows
	tagAsk
	tagBounds
	tagAnswer
)

// Parallel computes a split by a parallel sort with exact splitters and leaves
// the result in a distributed table ([Sack 2.3.1, 2.3.2], after
// Cheng, Shah, Gilbert and Edelman). With N rows, P processes and p sorters a
// process holds at most 3·⌈N/p⌉ rows at any time (N/P rows per process being
// even), and sends lg(P/p) + O(p lg N) messages.
type Parallel struct {
	script
	config Config
	layout

	block, group int
	own          []Row // this process's, in the order given
	proxied      []Row // those of the block's spare process
	table        []Row // sorted; all own rows of the block, later the share of the group's
	free         []Row // the other buffer
	total        int   // rows in the whole table
	search       search
	runs         []int
	bounds       []bound
	asks         []Message
	result       Result
}

// NewParallel returns the part of one process in a split: rows are those of its
// ranks, undefined colours included.
func NewParallel(config Config, process int, rows []Row) (*Parallel, error) {
	if err := config.check(process); err != nil {
		return nil, err
	}
	p := &Parallel{config: config, layout: newLayout(&config), own: rows}
	p.id, p.limits = process, config.limits()
	p.block = p.blocks.partOf(process)
	p.group = process - p.blocks.start(p.block)
	p.table, p.free = config.Buffers[0], config.Buffers[1]
	if share := (config.Ranks + config.Sorters - 1) / config.Sorters; p.table == nil && share > len(rows) {
		p.table, p.free = make([]Row, 0, share), make([]Row, 0, share)
	}
	p.next = p.begin
	return p, nil
}

// Result returns the outcome, once the machine is done.
func (p *Parallel) Result() Result { return p.result }

func (p *Parallel) enter(phase Phase) {
	if p.config.Watch != nil {
		p.config.Watch(p.id, phase)
	}
}

func (p *Parallel) begin(_ []Message, out *Outbox) stage {
	p.enter(Collect)
	p.table = append(p.table[:0], p.own...)
	p.table = slices.DeleteFunc(p.table, func(r Row) bool { return r.Color == Undefined })
	p.holds(len(p.own) + cap(p.table) + cap(p.free))
	if !slices.IsSortedFunc(p.table, Compare) {
		SortRows(p.table)
	}
	if p.group == p.groups() { // the spare process: block's first sorts its rows and the group of firsts answers
		out.send(Message{To: p.member(p.block, 0), Tag: tagProxy, Rows: p.table})
		out.await(tagAnswer, p.config.Sorters)
		return p.finish
	}
	if _, spare := p.spare(p.block); spare && p.group == 0 {
		out.await(tagProxy, 1)
	}
	return p.collect
}

// peers sends to every other process of the group and awaits as many.
func (p *Parallel) peers(out *Outbox, tag Tag, message func(block int) Message) {
	for b := range p.config.Sorters {
		if b != p.block {
			m := message(b)
			m.To, m.Tag = p.member(b, p.group), tag
			out.send(m)
		}
	}
	out.await(tag, p.config.Sorters-1)
}

// insertOwn inserts this process's own message at its place among those of the others
// of its group.
func (p *Parallel) insertOwn(in []Message, own Message) []Message {
	return slices.Insert(slices.Clone(in), p.block, own)
}

// resize returns a buffer of n rows, b if that is large enough.
func resize(b []Row, n int) []Row {
	if cap(b) < n {
		return make([]Row, n)
	}
	return b[:n]
}

package commsplit

import "math/bits"

// collect gathers the block's rows at each of its sorters, by recursive doubling
// with a merge after each stage, so that nothing is left to sort [Sack 2.3.1]. Where the block's size is no power of two, the processes
// beyond the largest one in it hand their rows in first and are given the whole
// last.
func (p *Parallel) collect(in []Message, out *Outbox) stage {
	for _, m := range in { // the spare process's
		p.proxied = append(p.proxied, m.Rows...)
		p.absorb(m)
	}
	power := p.power()
	switch {
	case p.group >= power:
		out.send(Message{To: p.id - power, Tag: tagFold, Rows: p.table})
		out.await(tagUnfold, 1)
		return p.unfold
	case p.group+power < p.groups():
		out.await(tagFold, 1)
	}
	return p.folded
}

func (p *Parallel) power() int { return 1 << (bits.Len(uint(p.groups())) - 1) }

func (p *Parallel) folded(in []Message, out *Outbox) stage {
	for _, m := range in {
		p.absorb(m)
	}
	return p.double(0)
}

// double exchanges tables with the process whose number in the block differs in
// one bit.
func (p *Parallel) double(round int) stage {
	return func(_ []Message, out *Outbox) stage {
		if 1<<round == p.power() {
			if p.group+p.power() < p.groups() {
				out.send(Message{To: p.id + p.power(), Tag: tagUnfold, Rows: p.table})
			}
			return p.count
		}
		tag := tagDouble + Tag(round)
		out.send(Message{To: p.member(p.block, p.group^1<<round), Tag: tag, Rows: p.table})
		out.await(tag, 1)
		return func(in []Message, out *Outbox) stage {
			p.absorb(in[0])
			return p.double(round + 1)
		}
	}
}

// absorb merges a message's rows into the table.
func (p *Parallel) absorb(m Message) {
	merged := resize(p.free, len(p.table)+len(m.Rows))
	Merge(merged, p.table, m.Rows)
	p.table, p.free = merged, p.table
	p.holds(len(p.own) + len(p.proxied) + cap(p.table) + cap(p.free) + len(m.Rows))
}

func (p *Parallel) unfold(in []Message, _ *Outbox) stage {
	p.table, p.free = resize(p.free, len(in[0].Rows)), p.table
	copy(p.table, in[0].Rows)
	p.holds(len(p.own) + cap(p.table) + cap(p.free) + len(in[0].Rows))
	return p.count
}

// count tells the group how many rows each block has.
func (p *Parallel) count(_ []Message, out *Outbox) stage {
	p.enter(Splitters)
	p.peers(out, tagCount, func(int) Message { return Message{Words: []uint64{uint64(len(p.table))}} })
	return p.counted
}

func (p *Parallel) counted(in []Message, _ *Outbox) stage {
	p.total = len(p.table)
	for _, m := range in {
		p.total += int(m.Words[0])
	}
	if p.total > p.limits.ranks {
		return p.fail("%d rows of %d ranks", p.total, p.limits.ranks)
	}
	p.search.begin(p.table, split{p.total, p.config.Sorters})
	return p.probe(0)
}

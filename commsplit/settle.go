package commsplit

import "slices"

// bring sends every sorter the rows of its share ([Sack 2.3.1], step
// 3). Of random rows (p-1)/p move.
func (p *Parallel) bring(_ []Message, out *Outbox) stage {
	p.enter(Bring)
	if p.config.Sorters == 1 { // merged in place
		return p.settleAlone
	}
	cuts := p.search.cuts()
	if !slices.IsSorted(cuts) {
		return p.fail("splitters in disorder")
	}
	p.peers(out, tagRows, func(b int) Message { return Message{Rows: p.table[cuts[b]:cuts[b+1]]} })
	kept := p.table[cuts[p.block]:cuts[p.block+1]]
	return func(in []Message, out *Outbox) stage {
		share := split{p.total, p.config.Sorters}.size(p.block)
		runs := p.insertOwn(in, Message{Rows: kept})
		p.free = resize(p.free, share)
		p.runs = append(p.runs[:0], 0)
		at := 0
		for _, m := range runs {
			if len(m.Rows) > share-at {
				return p.fail("more rows than its share of %d", share)
			}
			at += copy(p.free[at:], m.Rows)
			p.runs = append(p.runs, at)
		}
		if at < share {
			return p.fail("%d rows for a share of %d", at, share)
		}
		p.holds(len(p.own) + len(p.proxied) + cap(p.table) + cap(p.free) + share - len(kept))
		return p.ask
	}
}

// settleAlone finds the memberships of the process's own rows where all of the table is
// here, sorted.
func (p *Parallel) settleAlone(_ []Message, _ *Outbox) stage {
	p.enter(Combine) // done already
	p.enter(Settle)
	p.total = len(p.table)
	lo, hi := partRange(p.total, p.parts, p.id)
	part := make([]uint32, hi-lo)
	for i := range part {
		part[i] = p.table[lo+i].Rank
	}
	memberships := make([]Membership, len(p.own))
	for i := range p.own {
		r := &p.own[i]
		if memberships[i] = (Membership{Rank: r.Rank, Home: Spread}); r.Color != Undefined {
			memberships[i] = membershipOf(r, p.table, 0, split{p.total, 1}, nil)
		}
	}
	if p.err = p.limits.checkMemberships(p.own, memberships, p.total); p.err != nil {
		return nil
	}
	p.result = Result{Memberships: memberships, Table: newTable(p.total, p.parts, p.id, part, p.config.Cache)}
	p.table, p.free, p.proxied = nil, nil, nil
	p.enter(Finished)
	return nil
}

// ask sends the process's own rows to the processes that have them in their shares now,
// to be told their memberships. Since all processes ask all, one that has the questions
// knows that nobody reads its table any more.
func (p *Parallel) ask(_ []Message, out *Outbox) stage {
	asks := make([]Message, p.config.Sorters)
	for _, r := range p.own {
		if r.Color != Undefined {
			k := p.search.shareOf(&r)
			asks[k].Rows = append(asks[k].Rows, r)
		}
	}
	for k := range asks {
		asks[k].Words = []uint64{uint64(len(asks[k].Rows))}
	}
	for _, r := range p.proxied { // questions on the spare process's behalf follow
		k := p.search.shareOf(&r)
		asks[k].Rows = append(asks[k].Rows, r)
	}
	p.peers(out, tagAsk, func(b int) Message { return asks[b] })
	return func(in []Message, _ *Outbox) stage {
		own := asks[p.block]
		own.From = p.id
		p.asks = p.insertOwn(in, own)
		return p.combine
	}
}

// combine merges the share's runs (step 4) and tells the group where the first
// class of the share ends and the last begins.
func (p *Parallel) combine(_ []Message, out *Outbox) stage {
	p.enter(Combine)
	if len(p.runs) > 2 {
		p.table = resize(p.table, len(p.free))
	}
	p.table, p.free = MergeRuns(p.free, p.table, p.runs)
	p.enter(Settle)
	own := boundOf(p.table)
	p.peers(out, tagBounds, func(int) Message { return own.message() })
	return func(in []Message, _ *Outbox) stage {
		for _, m := range p.insertOwn(in, own.message()) {
			p.bounds = append(p.bounds, parseBound(m))
		}
		return p.answer
	}
}

// answer tells ranks their memberships, and hands out the parts of the table.
func (p *Parallel) answer(_ []Message, out *Outbox) stage {
	ranks := make([]uint32, len(p.table))
	for i := range p.table {
		ranks[i] = p.table[i].Rank
	}
	var own Message
	for b, ask := range p.asks {
		mine := int(ask.Words[0])
		m := p.reply(ask.From, ask.Rows[:mine], ranks)
		if b == p.block {
			own = m
		} else {
			out.send(m)
		}
		if spare, ok := p.spare(b); ok && p.group == 0 {
			out.send(p.reply(spare, ask.Rows[mine:], ranks))
		}
	}
	own.From = p.id
	out.await(tagAnswer, p.config.Sorters-1)
	return func(in []Message, out *Outbox) stage { return p.finish(p.insertOwn(in, own), out) }
}

// reply makes the message for another process: the number of rows, the memberships of
// the rows it asked for, and its part of the table as far as it is here.
func (p *Parallel) reply(to int, rows []Row, ranks []uint32) Message {
	m := Message{To: to, Tag: tagAnswer, Words: make([]uint64, 1, 1+2*len(rows))}
	m.Words[0] = uint64(p.total)
	shares := split{p.total, p.config.Sorters}
	for i := range rows {
		m.Words = membershipOf(&rows[i], p.table, p.block, shares, p.bounds).append(m.Words)
	}
	first := shares.start(p.block)
	lo, hi := partRange(p.total, p.parts, to)
	if lo, hi = max(lo-first, 0), min(hi-first, len(ranks)); lo < hi {
		m.Ranks = ranks[lo:hi]
	}
	return m
}

// finish puts the answers together. A spare process comes here from the start.
func (p *Parallel) finish(in []Message, _ *Outbox) stage {
	p.total = int(in[0].Words[0])
	lo, hi := partRange(p.total, p.parts, p.id)
	have := 0
	for _, m := range in {
		have += len(m.Ranks)
	}
	if have != hi-lo {
		return p.fail("%d rows for a part of %d", have, hi-lo)
	}
	part := make([]uint32, 0, have)
	memberships := make(map[uint32]Membership, len(p.own))
	for _, m := range in {
		part = append(part, m.Ranks...)
		for w := m.Words[1:]; len(w) > 0; w = w[membershipWords:] {
			pl := parseMembership(w)
			memberships[pl.Rank] = pl
		}
	}
	list := inOrder(p.own, memberships)
	if p.err = p.limits.checkMemberships(p.own, list, p.total); p.err != nil {
		return nil
	}
	p.result = Result{Memberships: list, Table: newTable(p.total, p.parts, p.id, part, p.config.Cache)}
	p.table, p.free, p.asks, p.proxied = nil, nil, nil, nil
	p.enter(Finished)
	return nil
}

package collective

// Held counts the bytes of others' data at the node.
func (n *Node) Held() int {
	total := 0
	for _, l := range n.links {
		if l != nil {
			total += l.in.held + l.queued
		}
	}
	for _, ep := range n.local {
		total += ep.in.held + ep.backlog + ep.stored
	}
	for _, c := range n.comms {
		for _, o := range c.ops {
			total += o.waiting
			if o.fan != nil {
				for _, s := range o.fan.slots {
					total += len(s.acc)
					for _, p := range s.late {
						total += len(p.bytes)
					}
				}
			}
		}
	}
	return total
}

// Forgotten tells whether nothing of any operation or message is left.
func (n *Node) Forgotten() bool {
	for _, c := range n.comms {
		if len(c.ops) > 0 {
			return false
		}
	}
	for _, ep := range n.local {
		if len(ep.active)+ep.posted.length+ep.unexpected.length+len(ep.sends)+len(ep.flows)+len(ep.asks) > 0 {
			return false
		}
	}
	return n.Held() == 0
}

// Runs returns directions in runs of one.
func Runs(towards ...Direction) []Run {
	list := make([]Run, len(towards))
	for i, toward := range towards {
		list[i] = Run{1, toward}
	}
	return list
}

// Settled tells whether no local endpoint waits for anything.
func (n *Node) Settled() bool {
	for _, ep := range n.local {
		if len(ep.active)+ep.posted.length+len(ep.sends)+len(ep.flows)+len(ep.asks) > 0 {
			return false
		}
	}
	return true
}

// Communicators counts those the node knows.
func (n *Node) Communicators() int { return len(n.comms) }

// Keep sets of how many ranks the node keeps numbers, instead of KeptNumbers.
func (n *Node) Keep(ranks int) { n.keep = ranks }

// Numbers is of how many ranks the node holds numbers beside its part of the tables, or
// waits for them; kept is of how many communicators it keeps them that no operation needs.
func (n *Node) Numbers() (ranks, kept int) {
	for _, c := range n.comms {
		if c.dir != nil {
			ranks += len(c.dir.numbers)
		}
	}
	return ranks, len(n.kept)
}

// TableOf returns a communicator whose table the node has a part of.
func (n *Node) TableOf() (comm uint64) {
	for id, c := range n.comms {
		if c.dir != nil {
			comm = id
		}
	}
	return comm
}

// Remembers is of how many communicators the node remembers answers to look-ups.
func (n *Node) Remembers() (count int) {
	for _, c := range n.comms {
		if !c.cache.Empty() {
			count++
		}
	}
	return count
}

// SplitOf returns a communicator that a Split made.
func (n *Node) SplitOf() (comm uint64) {
	for id, c := range n.comms {
		if c.ways != nil {
			comm = id
		}
	}
	return comm
}

// Questions counts those a local endpoint waits for.
func (n *Node) Questions(endpoint int) int { return len(n.ends[endpoint].asks) }

// SplitBytes returns the bytes that communicators made by splits take at the node,
// beside its own members: directions, and its part of the tables.
func (n *Node) SplitBytes() (directions, table int) {
	for _, c := range n.comms {
		if c.ways == nil {
			continue
		}
		directions += 8 * (len(c.ways.starts) + len(c.homes.starts) + len(c.towards) + len(c.tally))
		if c.dir != nil {
			table += 16*cap(c.dir.rows) + 4*cap(c.dir.numbers)
		}
	}
	return directions, table
}

package commsplit

import "slices"

const tagGather Tag = 0x100 << 16

// Conventional computes a split as MPICH and Open MPI do [Sack 2.2]: an allgather of all rows by Bruck's algorithm, a scan for the rows of
// the process's own colours, a sort of these. Every process holds all N rows
// and sends N - N/P of them in ⌈lg P⌉ messages. It is the baseline, and the
// oracle for everything else.
type Conventional struct {
	script
	config Config
	own    []Row
	blocks [][]Row // of this process and those after it, in a ring
	result Result
}

// NewConventional returns the part of one process; Sorters and Parts of the
// configuration do not matter.
func NewConventional(config Config, process int, rows []Row) (*Conventional, error) {
	config.Sorters, config.Parts = 1, 1
	if err := config.check(process); err != nil {
		return nil, err
	}
	c := &Conventional{config: config, own: rows, blocks: [][]Row{rows}}
	c.id, c.limits = process, config.limits()
	c.next = c.gather(0)
	return c, nil
}

// Result returns the outcome, once the machine is done. Its table holds the process's
// own communicators and nothing else: there is nobody to ask.
func (c *Conventional) Result() Result { return c.result }

func (c *Conventional) gather(round int) stage {
	return func(_ []Message, out *Outbox) stage {
		n, have := c.config.Processes, len(c.blocks)
		if have == n {
			return c.finish
		}
		var m Message
		for _, b := range c.blocks[:min(have, n-have)] {
			m.Rows = append(m.Rows, b...)
			m.Words = append(m.Words, uint64(len(b)))
		}
		m.To, m.Tag = (c.id+n-have)%n, tagGather+Tag(round)
		out.send(m)
		out.await(m.Tag, 1)
		return func(in []Message, _ *Outbox) stage {
			rows := in[0].Rows
			if len(in[0].Words) != len(m.Words) {
				return c.fail("rows of %d processes for %d", len(in[0].Words), len(m.Words))
			}
			for _, size := range in[0].Words {
				c.blocks = append(c.blocks, rows[:size:size])
				rows = rows[size:]
			}
			return c.gather(round + 1)
		}
	}
}

func (c *Conventional) finish(_ []Message, _ *Outbox) stage {
	var mine []uint32
	for _, r := range c.own {
		mine = append(mine, r.Color)
	}
	slices.Sort(mine)
	mine = slices.Compact(mine)
	var table []Row
	rows := 0
	for _, b := range c.blocks {
		rows += len(b)
		table = Filter(table, b, mine)
	}
	c.holds(rows + len(table))
	c.blocks = nil
	SortRows(table)
	ranks := make([]uint32, len(table))
	for i := range table {
		ranks[i] = table[i].Rank
	}
	memberships := make(map[uint32]Membership, len(c.own))
	for _, r := range c.own {
		if r.Color != Undefined {
			pl := membershipOf(&r, table, 0, split{len(table), 1}, nil)
			pl.Home = int32(c.id)
			memberships[r.Rank] = pl
		}
	}
	c.result = Result{inOrder(c.own, memberships), newHome(c.id, c.config.Processes, ranks, 0)}
	return nil
}

// Filter appends those rows whose colour is in the sorted list, Undefined left
// out.
func Filter(out, rows []Row, colors []uint32) []Row {
	for _, r := range rows {
		if _, ok := slices.BinarySearch(colors, r.Color); ok && r.Color != Undefined {
			out = append(out, r)
		}
	}
	return out
}

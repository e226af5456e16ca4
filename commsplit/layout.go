package commsplit

import "fmt"

// split cuts n things into parts as equal as can be: the first n mod parts have
// one more.
type split struct{ n, parts int }

func (s split) start(k int) int { return k*(s.n/s.parts) + min(k, s.n%s.parts) }

func (s split) size(k int) int { return s.start(k+1) - s.start(k) }

// partOf returns the part that thing i is in.
func (s split) partOf(i int) int {
	base, more := s.n/s.parts, s.n%s.parts
	if large := more * (base + 1); i >= large {
		return more + (i-large)/base
	}
	return i / (base + 1)
}

// Config configures a split. All processes of a split give the same.
type Config struct {
	// Processes take part, numbered from 0. Each brings the rows of some ranks,
	// any number of them.
	Processes int
	// Ranks is the number of ranks of all processes, or 0 if they do not know it.
	// Auto asks, and buffers are made for as many.
	Ranks int
	// Sorters is p, the number of processes that sort one copy of the table
	// together, 1 to Processes [Sack 2.3.1]. Processes are cut
	// into p blocks; within a block all gather the same 1/p of the table, and
	// one process of each block makes a group that sorts. So everybody sorts,
	// Processes/p groups side by side, and nothing need be sent out afterwards.
	// With 1, this is the algorithm that merges in place.
	Sorters int
	// Parts is P', over how many processes a copy of the finished table is
	// spread, 1 to Processes (section 2.3.2); 0 means as many as sort. With 1,
	// every process holds all of it.
	Parts int
	// Cache bounds how many answers of other processes' parts of the table a
	// process remembers, 16 bytes each; 0 means none.
	Cache int
	// Buffers are the memory for the table of the process, used if they are
	// large enough. The machine owns them from here on.
	Buffers [2][]Row
	// Watch, if set, is told when a process enters a phase.
	Watch func(process int, phase Phase)
}

func (c *Config) check(process int) error {
	if c.Parts == 0 {
		c.Parts = c.Sorters
	}
	switch {
	case c.Processes < 1:
		return fmt.Errorf("commsplit: %d processes", c.Processes)
	case process < 0 || process >= c.Processes:
		return fmt.Errorf("commsplit: process %d of %d", process, c.Processes)
	case c.Sorters < 1 || c.Sorters > c.Processes:
		return fmt.Errorf("commsplit: %d sorting processes of %d", c.Sorters, c.Processes)
	case c.Parts < 1 || c.Parts > c.Processes:
		return fmt.Errorf("commsplit: a table in %d parts on %d processes", c.Parts, c.Processes)
	}
	return nil
}

// layout assigns the parts of a parallel sort to processes.
type layout struct {
	blocks split // processes into blocks, one per sorter of a group
	parts  split // processes into holders of the same part of the table
}

func newLayout(c *Config) layout {
	return layout{blocks: split{c.Processes, c.Sorters}, parts: split{c.Processes, c.Parts}}
}

// groups counts the copies of the table that are sorted at the same time.
func (l layout) groups() int { return l.blocks.n / l.blocks.parts }

// member returns the process of a group that a block contributes.
func (l layout) member(block, group int) int { return l.blocks.start(block) + group }

// spare returns the process of a block that is left over when the blocks are of
// unequal sizes, and in no group.
func (l layout) spare(block int) (process int, ok bool) {
	return l.member(block, l.groups()), l.blocks.size(block) > l.groups()
}

// Phase is a part of the parallel sort [Sack, table 2.1].
type Phase uint8

// The phases, in order.
const (
	Collect   Phase = iota // gather and merge within the block
	Splitters              // find where each process's share begins
	Bring                  // exchange rows
	Combine                // merge the runs that came
	Settle                 // tell every rank its membership
	Finished
)

var phaseNames = [...]string{"collect", "splitters", "exchange", "merge", "settle", "finished"}

// String returns the phase's name in the paper; settle is not in it.
func (p Phase) String() string { return phaseNames[p] }

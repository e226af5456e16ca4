package commsplit

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// arena is the memory of all measurements, taken and touched once.
type arena struct {
	tables []commsplit.Row // to be sorted: a block's rows behind each other
	a, b   []commsplit.Row // working memory
}

func newArena(n int) *arena {
	m := &arena{tables: make([]commsplit.Row, n), a: make([]commsplit.Row, n), b: make([]commsplit.Row, n)}
	for _, rows := range [][]commsplit.Row{m.tables, m.a, m.b} {
		for i := range rows {
			rows[i] = commsplit.NewRow(1, 1, 1)
		}
	}
	return m
}

// fill writes n rows in order of their ranks, with random keys and colours.
func (m *arena) fill(n, colors int) []commsplit.Row {
	table := m.tables[:n]
	for i := range table {
		x := random(uint64(i))
		table[i] = commsplit.NewRow(uint32(x>>33)%uint32(colors), int32(x), uint32(i))
	}
	return table
}

// random returns a hash of 64 bits (the finaliser of splitmix64), so that every run has
// the same rows.
func random(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// phases are the times of one sorting process.
type phases [commsplit.Finished]time.Duration

// paper returns the sum of the phases of table 2.1: without telling ranks their places,
// which the paper does not time.
func (p phases) paper() time.Duration {
	return p[commsplit.Collect] + p[commsplit.Splitters] + p[commsplit.Bring] + p[commsplit.Combine]
}

// whole returns the sum of all phases.
func (p phases) whole() time.Duration { return p.paper() + p[commsplit.Settle] }

// sorting is a split of n ranks, one per process, of which the p processes that sort
// one copy of the table are carried out in full: they are the first of each block.
// Messages of the others of a block to the first while it collects are made beforehand,
// sorted as they would be; the paper measured in the same way (section 2.4), with two
// processes for the doubling and p for the sort.
type sorting struct {
	n, p     int
	full     bool // every process ends with the full table
	given    int  // bytes of tables that were given up since the last collection
	blocks   []commsplit.Row
	pending  []commsplit.Message // by sorter: from a process that is not carried out
	exchange *commsplit.Memory   // among the sorters, by block
	phase    []commsplit.Phase
	since    []time.Duration
	times    []phases
	machines []commsplit.Machine
}

// newSorting begins one. A finished table is spread over so many parts.
func newSorting(m *arena, n, p, parts, colors int) (*sorting, error) {
	if bits.OnesCount(uint(n)) != 1 || bits.OnesCount(uint(p)) != 1 || p > n {
		return nil, fmt.Errorf("%d ranks, %d sorters: not powers of two", n, p)
	}
	s := &sorting{
		n: n, p: p, full: parts < p, blocks: m.fill(n, colors), exchange: commsplit.NewMemory(p),
		pending: make([]commsplit.Message, p), phase: make([]commsplit.Phase, p),
		since: make([]time.Duration, p), times: make([]phases, p),
	}
	size := n / p
	for i := range p {
		block := s.blocks[i*size : (i+1)*size]
		for w := 1; w < size; w *= 2 {
			half := block[w : 2*w]
			if sorted, _ := commsplit.RadixSort(half, m.a[:w]); &sorted[0] != &half[0] {
				copy(half, sorted)
			}
		}
		c := commsplit.Config{Processes: n, Sorters: p, Parts: parts, Watch: s.watch}
		c.Buffers = [2][]commsplit.Row{m.a[i*size : i*size : (i+1)*size], m.b[i*size : i*size : (i+1)*size]}
		machine, err := commsplit.NewParallel(c, i*size, block[:1])
		if err != nil {
			return nil, err
		}
		s.machines = append(s.machines, stopwatch{machine, s, i})
	}
	return s, nil
}

func (s *sorting) watch(process int, phase commsplit.Phase) {
	i := process / (s.n / s.p)
	s.charge(i)
	s.phase[i] = phase
}

// charge adds the time since the last call to the sorter's present phase.
func (s *sorting) charge(i int) {
	now := cpu()
	s.times[i][min(s.phase[i], commsplit.Settle)] += now - s.since[i]
	s.since[i] = now
}

// stopwatch times the steps of a machine.
type stopwatch struct {
	commsplit.Machine
	s *sorting
	i int
}

func (w stopwatch) Step(in []commsplit.Message, out *commsplit.Outbox) {
	w.s.since[w.i] = cpu()
	w.Machine.Step(in, out)
	w.s.charge(w.i)
	if w.s.full && out.Done() {
		w.s.machines[w.i] = ended(w.Machine.Stats())
		if w.s.given += commsplit.RankBytes * w.s.n; w.s.given >= 1<<30 { // there is no room for p full tables
			w.s.given = 0
			collectGarbage()
		}
	}
}

// ended has the counts of a machine whose table was given up.
type ended commsplit.Stats

func (ended) Step([]commsplit.Message, *commsplit.Outbox) {}

func (e ended) Stats() commsplit.Stats { return commsplit.Stats(e) }

// Send implements commsplit.Exchange: a message to a process that is not carried
// out brings that one's answer, the next part of the block.
func (s *sorting) Send(i int, messages []commsplit.Message) {
	size := s.n / s.p
	var among []commsplit.Message
	for _, m := range messages {
		if m.To%size != 0 {
			have := len(m.Rows)
			s.pending[i] = commsplit.Message{From: m.To, To: m.From, Tag: m.Tag, Rows: s.blocks[i*size+have : i*size+2*have]}
			continue
		}
		m.To /= size
		among = append(among, m)
	}
	s.exchange.Send(i, among)
}

// Turn implements commsplit.Exchange.
func (s *sorting) Turn() error { return s.exchange.Turn() }

// Receive implements commsplit.Exchange.
func (s *sorting) Receive(i int, tag commsplit.Tag, count int) ([]commsplit.Message, bool) {
	if m := s.pending[i]; m.Tag == tag && count == 1 && m.From != m.To {
		s.pending[i] = commsplit.Message{}
		return []commsplit.Message{m}, true
	}
	return s.exchange.Receive(i, tag, count)
}

// worst returns, phase by phase, the time of the process that takes longest; of those
// that end with the full table, that of the median process, since the tables of others
// disturb some.
func (s *sorting) worst() (worst phases) {
	for k := range worst {
		var times []time.Duration
		for _, t := range s.times {
			times = append(times, t[k])
		}
		worst[k] = slices.Max(times)
		if s.full && k == int(commsplit.Settle) {
			worst[k] = results.Median(times)
		}
	}
	return worst
}

// result of measuring one sort.
type result struct {
	phases phases
	bytes  int // sent by the process that sends most
	rows   int // held by the process that holds most
}

// measureSort returns the median of several runs, phase by phase.
func measureSort(m *arena, n, p, parts, colors, runs int) (result, error) {
	var all []phases
	var r result
	for range runs {
		s, err := newSorting(m, n, p, parts, colors)
		if err != nil {
			return result{}, err
		}
		collectGarbage()
		if err := commsplit.Run(commsplit.Serial, s, s.machines); err != nil {
			return result{}, err
		}
		all = append(all, s.worst())
		for _, machine := range s.machines {
			r.bytes = max(r.bytes, machine.Stats().Bytes)
			r.rows = max(r.rows, machine.Stats().PeakRows)
		}
	}
	for k := range r.phases {
		var times []time.Duration
		for _, p := range all {
			times = append(times, p[k])
		}
		r.phases[k] = results.Median(times)
	}
	return r, nil
}

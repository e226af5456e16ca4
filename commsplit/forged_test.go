package commsplit

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// forger is an exchange in which one process's messages are changed: each byte of
// the script says what becomes of a message, the next two how.
type forger struct {
	*Memory
	evil   int
	script []byte
}

func (f *forger) next() int {
	if len(f.script) == 0 {
		return 0
	}
	b := f.script[0]
	f.script = f.script[1:]
	return int(b)
}

func (f *forger) Send(i int, messages []Message) {
	if i == f.evil {
		messages = slices.Clone(messages)
		for k := range messages {
			f.forge(&messages[k])
		}
	}
	f.Memory.Send(i, messages)
}

func (f *forger) forge(m *Message) {
	m.Rows, m.Words, m.Ranks = slices.Clone(m.Rows), slices.Clone(m.Words), slices.Clone(m.Ranks)
	how := f.next() % 10
	if how == 0 {
		return
	}
	at, value := f.next(), f.next()
	values := []uint64{0, 1, 2, uint64(value), 1<<31 - 1, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1<<64 - 1}
	v := values[value%len(values)]
	switch {
	case how <= 2 && len(m.Words) > 0:
		m.Words[at%len(m.Words)] = v
	case how == 3 && len(m.Words) > 0:
		m.Words = m.Words[:at%len(m.Words)]
	case how == 4 && len(m.Rows) > 0:
		m.Rows[at%len(m.Rows)] = Row{uint32(v), uint32(at), uint32(value)}
	case how == 5 && len(m.Rows) > 0:
		m.Rows = m.Rows[:at%len(m.Rows)]
	case how == 6:
		m.Rows = append(m.Rows, Row{Rank: uint32(at), Color: uint32(v)})
	case how == 7:
		m.Words = append(m.Words, v)
	case how == 8:
		m.Ranks = append(m.Ranks, uint32(v))
	default:
		m.To = at % len(f.waiting)
	}
}

// forgeable returns the ways to compute a split of six processes that are tried.
func forgeable(t require.TestingT, way int, w world) []Machine {
	c := Config{Processes: len(w), Sorters: len(w), Ranks: 24, Parts: 2}
	costs := []Costs{DefaultCosts(), {Row: 1, Byte: 1e3}, {Latency: 1, Row: 1e6}, {Latency: 1e3, Search: 1e9, Row: 1}}[way/4%4]
	var machines []Machine
	for i, rows := range w {
		var m Machine
		var err error
		switch way % 8 {
		case 0, 4:
			m, err = NewAuto(c, costs, i, rows)
		case 1:
			c.Sorters = 1 + way%6
			m, err = NewParallel(c, i, rows)
		case 2:
			m, err = NewHash(c, i, rows)
		case 3:
			m, err = NewRanges(c, i, rows)
		case 5:
			m, err = NewConventional(c, i, rows)
		case 6:
			c.Sorters = 3
			m, err = NewParallel(c, i, rows)
		case 7:
			rows = []Row{NewRow(uint32(i%2), int32(-i), uint32(i))}
			m, err = NewQuick(c, i, rows)
		}
		require.NoError(t, err)
		machines = append(machines, m)
	}
	return machines
}

func runForged(t require.TestingT, way, evil int, script []byte) error {
	w := make(world, 6)
	for rank := range 24 {
		x := mix(uint64(rank + way))
		w[rank/4] = append(w[rank/4], NewRow(uint32(x%3), int32(x>>40), uint32(rank)))
	}
	machines := forgeable(t, way, w)
	f := &forger{NewMemory(len(w)), evil % len(w), script}
	err := Run(Serial, f, machines)
	for _, m := range machines {
		require.Less(t, m.Stats().PeakRows, 1000, "memory is bounded by what can be")
	}
	return err
}

// FuzzForged has one process send what it should not: the others end, with an
// error or without, or wait.
func FuzzForged(f *testing.F) {
	for way := range 32 {
		f.Add(byte(way), byte(way/5), []byte{0, 1, 0, 5, 0, 4, 3, 8, 6, 9, 9, 0, 7, 1, 1, 0, 2, 200, 8})
	}
	f.Fuzz(func(t *testing.T, way, evil byte, script []byte) { _ = runForged(t, int(way), int(evil), script) })
}

// Every kind of nonsense in every message of every algorithm ends in an error or
// a wait, and is mostly seen.
func TestForgedMessages(t *testing.T) {
	seen, all := 0, 0
	for way := range 32 {
		for first := range 12 { // messages that are left alone
			for how := 1; how < 10; how++ {
				for at := range 4 {
					script := append(make([]byte, first), byte(how), byte(at*3), byte(at*2+how))
					all++
					if runForged(t, way, at, script) != nil {
						seen++
					}
				}
			}
		}
	}
	require.Greater(t, seen, all/4)
}

func TestForgedMessagesAreNamed(t *testing.T) {
	err := runForged(t, 6, 2, []byte{7, 0, 0})
	require.ErrorContains(t, err, "of process 2 to")
	require.ErrorContains(t, err, "it has not the form of its step")
}

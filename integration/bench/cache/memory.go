package cache

import (
	"fmt"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
)

// forest is a tree of boards in this process, with ranks that put one value
// each, fence, and get their neighbours' values, round after round. There is no
// time in it: messages are handed over in the order in which they were sent.
type forest struct {
	shape
	policy cache.Policy
	budget int
	value  int  // bytes
	share  bool // one copy of each broadcast
	askers int  // the number of nodes whose ranks get; 0 for all

	boards []cache.Board
	slot   []cache.Peer
	child  [][]int
	queue  []letter
	out    cache.Effects
	last   struct {
		from *byte
		text string
	}
}

type letter struct {
	to   int
	from cache.Peer
	msg  []byte
}

// one shares the broadcast that is under way.
func (f *forest) one(entries []byte) string {
	if len(entries) == 0 {
		return ""
	}
	if f.last.from != &entries[0] {
		f.last.from, f.last.text = &entries[0], string(entries)
	}
	return f.last.text
}

func (f *forest) plant() error {
	n := len(f.parent)
	f.slot, f.child = make([]cache.Peer, n), make([][]int, n)
	for i := 1; i < n; i++ {
		p := f.parent[i]
		f.slot[i] = cache.Peer(len(f.child[p]))
		f.child[p] = append(f.child[p], i)
	}
	for i := range n {
		c := cache.Config{
			Policy: f.policy, Root: i == 0, Children: len(f.child[i]), LocalRanks: f.ranks, Size: n * f.ranks,
			World: "world", Nodes: n, Node: job.NodeID(i), Budget: f.budget,
		}
		if f.share {
			c.Share = f.one
		}
		b, err := cache.New(c)
		if err != nil {
			return err
		}
		f.boards = append(f.boards, b)
		if err := b.Start(&f.out); err != nil {
			return err
		}
		f.post(i)
	}
	return f.deliver()
}

// post queues the messages that a board wants sent.
func (f *forest) post(at int) {
	for _, s := range f.out.Sends {
		switch to, routed := s.To.Node(); {
		case routed:
			f.queue = append(f.queue, letter{int(to), cache.Node(job.NodeID(at)), s.Msg})
		case s.To == cache.Parent:
			f.queue = append(f.queue, letter{f.parent[at], f.slot[at], s.Msg})
		default:
			f.queue = append(f.queue, letter{f.child[at][s.To], cache.Parent, s.Msg})
		}
	}
	f.out.Reset()
}

func (f *forest) deliver() error {
	for len(f.queue) > 0 {
		batch := f.queue
		f.queue = nil
		for i, m := range batch {
			if err := f.boards[m.to].Receive(m.from, m.msg, &f.out); err != nil {
				return err
			}
			batch[i].msg = nil
			f.post(m.to)
		}
	}
	return nil
}

// round lets every rank put, fence and get its neighbours' values.
func (f *forest) round(number int) error {
	if err := f.puts(number); err != nil {
		return err
	}
	return f.gets(number, ring)
}

// puts lets every rank put and fence.
func (f *forest) puts(number int) error {
	value := make([]byte, f.value)
	size := len(f.boards) * f.ranks
	for r := range size {
		if err := f.boards[r/f.ranks].Put([]byte(keyOf(number, r)), value, &f.out); err != nil {
			return err
		}
		f.post(r / f.ranks)
	}
	if err := f.deliver(); err != nil {
		return err
	}
	for r := range size {
		if err := f.boards[r/f.ranks].Enter(&f.out); err != nil {
			return err
		}
		f.post(r / f.ranks)
	}
	return f.deliver()
}

// gets lets every rank get its peers' values, one after the other.
func (f *forest) gets(number int, peers func(rank, ranks int) []int) error {
	size := len(f.boards) * f.ranks
	stride := 1
	if f.askers > 0 {
		stride = max(1, len(f.boards)/f.askers)
	}
	for i := range peers(0, size) {
		for r := range size {
			if r/f.ranks%stride != 0 {
				continue
			}
			f.boards[r/f.ranks].Get(uint64(r), []byte(keyOf(number, peers(r, size)[i])), &f.out)
			f.post(r / f.ranks)
		}
		if err := f.deliver(); err != nil {
			return err
		}
	}
	return nil
}

// sent counts the messages that the boards have sent.
func (f *forest) sent() (messages uint64) {
	for _, b := range f.boards {
		messages += b.Stats().Sent
	}
	return messages
}

// homes returns the memory of the keys whose home each node is.
func (f *forest) homes(rounds int) []int {
	held := make([]int, len(f.boards))
	for n := range rounds {
		for r := range len(f.boards) * f.ranks {
			key := keyOf(n, r)
			held[cache.Home("world", []byte(key), len(held))] += len(key) + f.value + indexCost
		}
	}
	return held
}

// indexCost is package cache's estimate for a key in an index, in bytes.
const indexCost = 56

// held is the memory of the boards.
type held struct {
	root, most, least, median int
	beyond                    int // the most that one holds beside keys whose home it is
}

func (f *forest) held(rounds int) held {
	sizes := make([]int, len(f.boards))
	h := held{}
	homes := make([]int, len(f.boards))
	if f.policy.UsesHomes() {
		homes = f.homes(rounds)
	}
	for i, b := range f.boards {
		sizes[i] = b.Stats().Resident
		h.beyond = max(h.beyond, sizes[i]-homes[i])
	}
	h.root = sizes[0]
	h.least, h.median, h.most = spread(sizes)
	return h
}

// roundBytes returns the bytes of one round in a cache, as hcmab-lru counts them.
func roundBytes(size, value int) int {
	sum := 0
	for r := range size {
		sum += len(keyOf(0, r)) + value + slotCost
	}
	return sum
}

// slotCost is package cache's estimate for a key in the LRU, in bytes.
const slotCost = 128

// sizeOf renders bytes.
func sizeOf(bytes int) string {
	switch {
	case bytes < 10_000:
		return fmt.Sprint(bytes, " B")
	case bytes < 10_000_000:
		return fmt.Sprintf("%.0f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
}

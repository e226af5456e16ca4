package commsplit

import "math/bits"

const (
	// ways is how many entries can hold a given key.
	ways       = 4
	entryBytes = 16
)

// cache remembers answers in sets of four, the least recently used of a set
// giving way. Its memory is what it was made with, whatever is asked.
type cache struct{ entries []entry }

type entry struct {
	key  uint64 // plus 1; 0 is an empty entry
	rank uint32
}

// newCache returns a cache of at most n entries: the largest power of two.
func newCache(n int) cache {
	if n < ways {
		return cache{}
	}
	return cache{make([]entry, 1<<(bits.Len(uint(n))-1))}
}

// set holds the entries for a key, most recently used first.
func (c *cache) set(key uint64) []entry {
	hash := mix(key) & uint64(len(c.entries)/ways-1)
	return c.entries[hash*ways : hash*ways+ways]
}

func (c *cache) get(key uint64) (rank uint32, ok bool) {
	if len(c.entries) == 0 {
		return 0, false
	}
	set := c.set(key)
	for i, e := range set {
		if e.key == key+1 {
			copy(set[1:], set[:i])
			set[0] = e
			return e.rank, true
		}
	}
	return 0, false
}

func (c *cache) put(key uint64, rank uint32) {
	if _, known := c.get(key); known || len(c.entries) == 0 {
		return
	}
	set := c.set(key)
	copy(set[1:], set)
	set[0] = entry{key + 1, rank}
}

// mix is a hash of 64 bits to 64 (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

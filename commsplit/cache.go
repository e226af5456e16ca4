package commsplit

import "math/bits"

const (
	// ways is the number of entries that can hold a given key.
	ways       = 4
	entryBytes = 16
)

// Cache remembers answers to look-ups in sets of four, the least recently used of a set
// giving way. Its memory is fixed when it is made. The zero Cache remembers nothing.
type Cache struct{ entries []entry }

type entry struct {
	key   uint64 // plus 1; 0 is an empty entry
	value uint64
}

// NewCache returns a cache of at most n entries, 16 bytes each: the largest
// power of two.
func NewCache(n int) Cache {
	if n < ways {
		return Cache{}
	}
	return Cache{make([]entry, 1<<(bits.Len(uint(n))-1))}
}

// Empty reports whether the cache has no room for anything.
func (c *Cache) Empty() bool { return len(c.entries) == 0 }

// set holds the entries for a key, most recently used first.
func (c *Cache) set(key uint64) []entry {
	hash := mix(key) & uint64(len(c.entries)/ways-1)
	return c.entries[hash*ways : hash*ways+ways]
}

// Get looks a key up.
func (c *Cache) Get(key uint64) (value uint64, ok bool) {
	if len(c.entries) == 0 {
		return 0, false
	}
	set := c.set(key)
	for i, e := range set {
		if e.key == key+1 {
			copy(set[1:], set[:i])
			set[0] = e
			return e.value, true
		}
	}
	return 0, false
}

// Put remembers an answer; one that is known already stays as it is.
func (c *Cache) Put(key, value uint64) {
	if _, known := c.Get(key); known || len(c.entries) == 0 {
		return
	}
	set := c.set(key)
	copy(set[1:], set)
	set[0] = entry{key + 1, value}
}

// mix returns a hash of 64 bits to 64 (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

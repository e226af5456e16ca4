package cache

import "strings"

// indexCost estimates the bytes of one key in an index that is a map: two string
// headers, and the slack of a map that grows by doubling.
const indexCost = 56

// compactSlack is the number of superseded bytes that a state may hold beyond its live
// bytes before it is compacted.
const compactSlack = 64 << 10

// maxCompact bounds a compacted text: a slot has 32 bits for a place in it.
const maxCompact = 1 << 31

// state holds the world as of the last completed fence: the broadcasts as they came,
// and a hash table with the position of each key's entry in them. A node has all
// entries of the world, most of which nobody here asks for, so indexing one must cost
// little: no memory of its own, nothing for the garbage collector to look at.
type state struct {
	texts []string    // broadcasts, some of whose entries may be superseded
	slots []stateSlot // open addressing; the length is a power of two
	keys  int
	// fresh is the newest broadcast, not yet in slots: a node indexes it when
	// it is first asked, after the broadcast has gone on to the children.
	fresh string
	live  int // bytes of the entries in slots
	held  int // bytes of texts
}

// stateSlot is the place of an entry: texts[text-1][at:]. The zero slot is empty. Its
// part of the key's hash spares most looks at entries, which are far away.
type stateSlot struct{ text, at, hash uint32 }

// slotBytes is the size of a slot.
const slotBytes = 12

// install makes the entries of body, which must be well formed, part of the state.
func (s *state) install(body string) {
	if body == "" {
		return
	}
	s.settle() // at most one broadcast waits
	s.fresh = body
}

func (s *state) get(key []byte) (value string, found bool) {
	if s.fresh != "" {
		s.settle()
	}
	if s.keys == 0 {
		return "", false
	}
	slot, text, off := find(s, hash(key), key)
	if slot.text == 0 {
		return "", false
	}
	from, to, _ := field(text, off)
	return text[from:to], true
}

// find returns the slot of key, whose hash is h, or the empty one where it
// belongs; of an entry also its text and the offset of its value there.
func find[T bytestring](s *state, h uint32, key T) (at *stateSlot, text string, off int) {
	mask := len(s.slots) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		at = &s.slots[i]
		if at.text == 0 {
			return at, "", 0
		}
		if at.hash != h {
			continue
		}
		text = s.texts[at.text-1]
		from, to, _ := field(text, int(at.at))
		if text[from:to] == string(key) { // compiles to a comparison without a copy
			return at, text, to
		}
	}
}

// hash is 64-bit FNV-1a, its halves mixed.
func hash[T bytestring](key T) uint32 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return uint32(h ^ h>>32)
}

// settle moves fresh into the index.
func (s *state) settle() {
	if s.fresh == "" {
		return
	}
	body := s.fresh
	s.fresh = ""
	s.add(body)
	if s.held > 2*s.live+compactSlack && s.live < maxCompact {
		s.compact()
	}
}

// add indexes the entries of a text.
func (s *state) add(text string) {
	n := 0
	for range entries(text) {
		n++
	}
	s.grow(s.keys + n)
	s.texts = append(s.texts, text)
	s.held += len(text)
	number := uint32(len(s.texts))
	for off := 0; off < len(text); {
		from, to, _ := field(text, off)
		h := hash(text[from:to])
		at, old, value := find(s, h, text[from:to])
		if at.text == 0 {
			s.keys++
		} else {
			_, end, _ := field(old, value)
			s.live -= end - int(at.at)
		}
		*at = stateSlot{number, uint32(off), h}
		_, next, _ := field(text, to)
		s.live += next - off
		off = next
	}
}

// grow makes room for so many keys, a quarter of the slots staying empty.
func (s *state) grow(keys int) {
	size := max(len(s.slots), 8)
	for size*3/4 < keys {
		size *= 2
	}
	if size == len(s.slots) {
		return
	}
	old := s.slots
	s.slots = make([]stateSlot, size)
	mask := size - 1
	for _, o := range old {
		if o.text != 0 {
			i := int(o.hash) & mask
			for s.slots[i].text != 0 {
				i = (i + 1) & mask
			}
			s.slots[i] = o
		}
	}
}

// compact copies live entries together, so that a world that overwrites its keys for
// ever does not grow.
func (s *state) compact() {
	var all strings.Builder
	all.Grow(s.live)
	for _, o := range s.slots {
		if o.text != 0 {
			text := s.texts[o.text-1]
			_, to, _ := field(text, int(o.at))
			_, end, _ := field(text, to)
			all.WriteString(text[o.at:end])
		}
	}
	*s = state{}
	s.add(all.String())
}

// size estimates the memory held, in bytes.
func (s *state) size() int { return s.held + len(s.fresh) + slotBytes*len(s.slots) }

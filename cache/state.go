package cache

import "strings"

// indexCost estimates what one key costs in an index, in bytes: two string
// headers, and the slack of a map that grows by doubling.
const indexCost = 56

// compactSlack is how many superseded bytes a state may hold on top of as many
// as are live before it is copied together.
const compactSlack = 64 << 10

// state is what a node knows of the world as of the last completed fence. Keys
// and values are substrings of the broadcasts they came in: no copy per entry.
type state struct {
	index map[string]string
	// fresh is the newest broadcast, not yet in index: a node indexes it when
	// it is first asked, after the broadcast has gone on to the children.
	fresh string
	live  int // bytes of the keys and values in index
	held  int // bytes of the broadcasts that index points into
}

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
	value, found = s.index[string(key)] // compiles to a look-up without a copy
	return value, found
}

// settle moves fresh into the index.
func (s *state) settle() {
	if s.fresh == "" {
		return
	}
	if s.index == nil {
		s.index = make(map[string]string)
	}
	for key, value := range entries(s.fresh) {
		if old, again := s.index[key]; again {
			s.live -= len(key) + len(old)
		}
		s.index[key] = value
		s.live += len(key) + len(value)
	}
	s.held += len(s.fresh)
	s.fresh = ""
	if s.held > 2*s.live+compactSlack {
		s.compact()
	}
}

// compact copies what is live together, so that a world that overwrites its
// keys for ever does not grow.
func (s *state) compact() {
	var all strings.Builder
	all.Grow(s.live) // never moved from here on
	index := make(map[string]string, len(s.index))
	for key, value := range s.index {
		at := all.Len()
		all.WriteString(key)
		all.WriteString(value)
		entry := all.String()[at:]
		index[entry[:len(key)]] = entry[len(key):]
	}
	s.index, s.held = index, s.live
}

// size estimates the memory held, in bytes.
func (s *state) size() int {
	return s.held + len(s.fresh) + indexCost*len(s.index)
}

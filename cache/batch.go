package cache

// batch is the puts of one node in one epoch: each key's last value, keys in
// the order of their first put.
type batch struct {
	values map[string]string
	order  []string
	bytes  int // encoded size
}

func (b *batch) get(key []byte) (value string, found bool) {
	value, found = b.values[string(key)] // compiles to a look-up without a copy
	return value, found
}

// grow is by how many encoded bytes a put would change b.
func (b *batch) grow(key, value []byte) int {
	if old, again := b.values[string(key)]; again {
		return fieldSize(len(value)) - fieldSize(len(old))
	}
	return entrySize(len(key), len(value))
}

func (b *batch) put(key, value string) {
	old, again := b.values[key]
	if again {
		b.bytes += fieldSize(len(value)) - fieldSize(len(old))
	} else {
		if b.values == nil {
			b.values = make(map[string]string)
		}
		b.order = append(b.order, key)
		b.bytes += entrySize(len(key), len(value))
	}
	b.values[key] = value
}

// appendTo appends b's entries to msg.
func (b *batch) appendTo(msg []byte) []byte {
	for _, key := range b.order {
		msg = appendEntry(msg, key, b.values[key])
	}
	return msg
}

// size estimates the memory held, in bytes.
func (b *batch) size() int { return b.bytes + indexCost*len(b.values) }

// rivals is the puts of one epoch from several sources, where among puts of one
// key those of the highest source win, and of these the last. Keys are kept in
// the order of their first put.
type rivals struct {
	puts  map[string]rival
	order []string
	bytes int // encoded size of what wins
}

type rival struct {
	value  string
	source int
}

// rivalCost is indexCost for a key of rivals, which is in the order too.
const rivalCost = indexCost + 16 + 8

// offer adds a put and reports whether it wins so far, and whether another
// source has put the key too.
func (r *rivals) offer(source int, key, value string) (won, contested bool) {
	old, again := r.puts[key]
	switch {
	case !again:
		if r.puts == nil {
			r.puts = make(map[string]rival)
		}
		r.order = append(r.order, key)
		r.bytes += entrySize(len(key), len(value))
	case source < old.source:
		return false, true
	default:
		r.bytes += fieldSize(len(value)) - fieldSize(len(old.value))
	}
	r.puts[key] = rival{value, source}
	return true, again && source != old.source
}

// drop forgets a key.
func (r *rivals) drop(key string) {
	if old, found := r.puts[key]; found {
		r.bytes -= entrySize(len(key), len(old.value))
		delete(r.puts, key)
	}
}

// each calls yield with every key that was not dropped and the value that won.
func (r *rivals) each(yield func(key, value string) bool) {
	for _, key := range r.order {
		if won, kept := r.puts[key]; kept && !yield(key, won.value) {
			return
		}
	}
}

// appendTo appends the winners to msg.
func (r *rivals) appendTo(msg []byte) []byte {
	for key, value := range r.each {
		msg = appendEntry(msg, key, value)
	}
	return msg
}

// size estimates the memory held, in bytes.
func (r *rivals) size() int { return r.bytes + rivalCost*len(r.puts) }

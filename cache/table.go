package cache

// table is keys with their values as of the last completed fence, each entry in
// memory of its own so that it can go alone.
type table struct {
	values map[string]string
	bytes  int // of keys and values
}

func (t *table) get(key []byte) (value string, found bool) {
	value, found = t.values[string(key)]
	return value, found
}

func (t *table) put(key, value string) {
	if t.values == nil {
		t.values = make(map[string]string)
	}
	if old, again := t.values[key]; again {
		t.bytes -= len(key) + len(old)
	}
	t.values[key] = value
	t.bytes += len(key) + len(value)
}

func (t *table) drop(key string) {
	if old, found := t.values[key]; found {
		t.bytes -= len(key) + len(old)
		delete(t.values, key)
	}
}

// size estimates the memory held, in bytes.
func (t *table) size() int { return t.bytes + indexCost*len(t.values) }

// drops is which keys caches must drop at a fence: those rewritten in it, that
// is put before or by several nodes, or all there are.
type drops struct {
	max   int // size; beyond it all is dropped
	all   bool
	keys  map[string]bool
	order []string
	bytes int // encoded size
}

func (d *drops) add(key string) {
	if d.all || d.keys[key] {
		return
	}
	if d.keys == nil {
		d.keys = make(map[string]bool)
	}
	d.keys[key] = true
	d.order = append(d.order, key)
	if d.bytes += fieldSize(len(key)); d.size() > d.max {
		d.addAll()
	}
}

func (d *drops) addAll() { *d = drops{max: d.max, all: true} }

// merge adds the keys of a message with header h and body.
func (d *drops) merge(h header, body []byte) {
	if h.dropAll {
		d.addAll()
	}
	for key := range keys(body) {
		d.add(string(key))
	}
}

func (d *drops) has(key string) bool { return d.all || d.keys[key] }

func (d *drops) reset() { *d = drops{max: d.max} }

// message encodes d below the header h.
func (d *drops) message(h header) []byte {
	h.dropAll = d.all
	msg := h.appendTo(make([]byte, 0, maxHeader+d.bytes))
	for _, key := range d.order {
		msg = appendField(msg, key)
	}
	return msg
}

// size estimates the memory held, in bytes.
func (d *drops) size() int { return d.bytes + indexCost*len(d.order) }

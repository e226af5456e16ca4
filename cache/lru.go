package cache

// slotCost is what one key costs in an lru on top of its bytes: the item, and
// its place in a map that grows by doubling.
const slotCost = 72 + 56

// lru is the entries that were used last, as many as fit into a budget (ScELA
// section 3.2.4), and keys that are known to be absent in an epoch.
type lru struct {
	budget int
	bytes  int // never above budget
	index  map[string]*item
	ring   item // ring.next is the item used last, ring.prev goes first
}

// item is an entry or, where absent, a key that has no value in epoch.
type item struct {
	key, value string
	absent     bool
	epoch      Epoch
	prev, next *item
}

func (it *item) cost() int { return len(it.key) + len(it.value) + slotCost }

func newLRU(budget int) lru { return lru{budget: budget} }

// get looks key up as of epoch and makes it the one used last. known is false
// where l cannot tell.
func (l *lru) get(key []byte, epoch Epoch) (value string, found, known bool) {
	it := l.index[string(key)]
	if it == nil || it.absent && it.epoch != epoch {
		return "", false, false
	}
	l.unlink(it)
	l.link(it)
	return it.value, !it.absent, true
}

// put makes value the one of key.
func (l *lru) put(key, value []byte) { l.add(key, value, false, 0) }

// miss notes that key is absent in epoch.
func (l *lru) miss(key []byte, epoch Epoch) { l.add(key, nil, true, epoch) }

func (l *lru) add(key, value []byte, absent bool, epoch Epoch) {
	l.drop(key)
	cost := len(key) + len(value) + slotCost
	if cost > l.budget {
		return
	}
	for l.bytes+cost > l.budget {
		l.remove(l.ring.prev)
	}
	if l.index == nil {
		l.index = make(map[string]*item)
		l.ring.prev, l.ring.next = &l.ring, &l.ring
	}
	it := &item{key: string(key), value: string(value), absent: absent, epoch: epoch}
	l.index[it.key] = it
	l.bytes += cost
	l.link(it)
}

func (l *lru) drop(key []byte) {
	if it := l.index[string(key)]; it != nil {
		l.remove(it)
	}
}

func (l *lru) clear() { *l = newLRU(l.budget) }

func (l *lru) remove(it *item) {
	l.unlink(it)
	delete(l.index, it.key)
	l.bytes -= it.cost()
}

func (l *lru) link(it *item) {
	it.prev, it.next = &l.ring, l.ring.next
	it.prev.next, it.next.prev = it, it
}

func (l *lru) unlink(it *item) { it.prev.next, it.next.prev = it.next, it.prev }

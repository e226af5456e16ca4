package cache

// slotCost is the bytes that one key takes in an lru on top of its own: the item, and
// its place in a map that grows by doubling.
const slotCost = 72 + 56

// answersShare is the part of its budget, one in so many, that an lru clears
// for answers where the last stage's entries fill it.
const answersShare = 8

// lru is the entries that fit into a budget (ScELA section 3.2.4): those of fences, and
// answers that were asked for, keys known to be absent among them. Of entries of one
// kind the least recently used makes room for others, and entries of earlier stages go
// before all of the last one.
//
// Within a stage it resists scans. Ranks ask for every key of a stage, one
// after the other; of a budget below the stage an lru that gives each newcomer
// a place would have forgotten every entry by the time it is asked for. So
// entries of a fence that find no room do not drive out those before them, and
// answers drive out answers, as soon as they hold their share. The puts of the
// node's own ranks, of which its ranks ask most, find room first.
type lru struct {
	budget  int
	bytes   int // never above budget
	evicted uint64
	stage   Epoch // of the newest entries of a fence
	index   map[string]*item
	stages  recency // entries of fences
	answers recency
}

// item is an entry or, where absent, a key that has no value in epoch.
type item struct {
	key, value string
	absent     bool
	answer     bool
	epoch      Epoch // of an entry of a fence its stage
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
	l.list(it).use(it)
	return it.value, !it.absent, true
}

// put makes value the one of key as of the fence that began stage. own says that
// it was put by a rank of this node.
func (l *lru) put(key, value []byte, stage Epoch, own bool) {
	l.stage = max(l.stage, stage)
	l.add(&item{epoch: stage}, key, value, own)
}

// learn notes the answer that key has value.
func (l *lru) learn(key, value []byte) { l.add(&item{answer: true}, key, value, false) }

// miss notes the answer that key is absent in epoch.
func (l *lru) miss(key []byte, epoch Epoch) {
	l.add(&item{answer: true, absent: true, epoch: epoch}, key, nil, false)
}

func (l *lru) add(it *item, key, value []byte, own bool) {
	l.drop(key)
	cost := len(key) + len(value) + slotCost
	if cost > l.budget {
		return
	}
	for l.bytes+cost > l.budget {
		v := l.victim(it.answer, own, cost)
		if v == nil {
			return
		}
		l.remove(v)
		l.evicted++
	}
	if l.index == nil {
		l.index = make(map[string]*item)
	}
	it.key, it.value = string(key), string(value)
	l.index[it.key] = it
	l.bytes += cost
	l.list(it).add(it)
}

// victim returns the item to evict for another of some cost; nil if there is none.
func (l *lru) victim(answer, own bool, cost int) *item {
	oldest, answered := l.stages.last(), l.answers.last()
	switch {
	case oldest != nil && oldest.epoch < l.stage:
		return oldest
	case answered == nil && !answer && !own:
		return nil
	case answered == nil, answer && oldest != nil && l.answers.bytes+cost <= l.budget/answersShare:
		return oldest
	}
	return answered
}

func (l *lru) list(it *item) *recency {
	if it.answer {
		return &l.answers
	}
	return &l.stages
}

func (l *lru) drop(key []byte) {
	if it := l.index[string(key)]; it != nil {
		l.remove(it)
	}
}

func (l *lru) clear() { *l = lru{budget: l.budget, evicted: l.evicted, stage: l.stage} }

func (l *lru) remove(it *item) {
	l.list(it).remove(it)
	delete(l.index, it.key)
	l.bytes -= it.cost()
}

// recency is a list of items in the order of their last use. The zero value is
// empty; it must not be copied once used.
type recency struct {
	ring  item // ring.next is the item used last, ring.prev goes first
	bytes int
}

// last returns the item that was not used for longest, or nil.
func (r *recency) last() *item {
	if r.bytes == 0 {
		return nil
	}
	return r.ring.prev
}

func (r *recency) add(it *item) {
	if r.ring.next == nil {
		r.ring.prev, r.ring.next = &r.ring, &r.ring
	}
	r.bytes += it.cost()
	it.prev, it.next = &r.ring, r.ring.next
	it.prev.next, it.next.prev = it, it
}

func (r *recency) remove(it *item) {
	it.prev.next, it.next.prev = it.next, it.prev
	r.bytes -= it.cost()
}

func (r *recency) use(it *item) {
	r.remove(it)
	r.add(it)
}

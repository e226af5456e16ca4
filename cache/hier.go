package cache

import "fmt"

// hier is policies HCS and HCMA (ScELA sections 3.2.1 and 3.2.2): puts go up to
// the root and stay, on the way, in the cache of every node they pass; a get
// that a node cannot answer goes to its parent, and the answer stays in the
// caches on its way down. HCS sends each put on at once, HCMA one aggregate of
// the subtree at the fence.
//
// A put that passes counts from the fence on. The fence's answer names the keys
// of which a copy somewhere may be wrong from then on: the root those put again
// in a later epoch, any node those of which several of its sources sent puts,
// so that the caches below have losers among theirs.
type hier struct {
	base
	eager  bool   // HCS
	known  table  // as of the last fence; at the root all there is
	absent lru    // keys without a value in this epoch
	own    batch  // this node's puts for the fence to come
	sent   batch  // its puts for the fence under way, which went up
	passed rivals // all puts for the fence to come that went through here
	drops  drops  // entries that the caches below must drop then
	asked  asked
}

var _ Board = (*hier)(nil)

// newHier makes a board of HCS, which is eager, or of HCMA.
func newHier(c Config, eager bool) *hier {
	b := &hier{
		base: newBase(c), eager: eager,
		absent: newLRU(c.Budget), drops: drops{max: c.MaxDrops},
	}
	b.asked.base = &b.base
	return b
}

// ownPuts is the source of this node's own puts, which come before those of its
// children in pre-order.
const ownPuts = -1

// Start implements Board.
func (b *hier) Start(out *Effects) error { return b.advance(out) }

// Put implements Board.
func (b *hier) Put(key, value []byte, out *Effects) error {
	if err := b.checkPut(key, value, &b.own); err != nil {
		return err
	}
	k, v := string(key), string(value)
	b.own.put(k, v)
	b.stats.Puts++
	if !b.waiting { // else it is one for the fence after, and goes up after this one
		b.pass(ownPuts, k, v, out)
	}
	return nil
}

// pass takes a put on its way up.
func (b *hier) pass(source int, key, value string, out *Effects) {
	won, contested := b.passed.offer(source, key, value)
	if contested {
		b.drops.add(key)
	}
	if won && b.eager && !b.cfg.Root {
		h := header{kind: kindPut, epoch: b.epoch}
		msg := h.appendTo(make([]byte, 0, maxHeader+entrySize(len(key), len(value))))
		b.send(Parent, appendEntry(msg, key, value), out)
	}
}

// Get implements Board.
func (b *hier) Get(token uint64, key []byte, out *Effects) {
	b.stats.Gets++
	value, found := b.own.get(key)
	if !found {
		value, found = b.sent.get(key)
	}
	known := found
	if !found {
		value, found, known = b.lookUp(key)
	}
	if known {
		b.answer(token, value, found, out)
		return
	}
	b.asked.ask(Parent, key, waiter{to: here, token: token}, out)
}

// lookUp finds key as of the last fence; known is false where this node cannot
// tell.
func (b *hier) lookUp(key []byte) (value string, found, known bool) {
	if value, found = b.known.get(key); found || b.cfg.Root {
		return value, found, true
	}
	return b.absent.get(key, b.epoch)
}

// Enter implements Board.
func (b *hier) Enter(out *Effects) error {
	if err := b.enter(); err != nil {
		return err
	}
	return b.advance(out)
}

// Receive implements Board.
func (b *hier) Receive(from Peer, msg []byte, out *Effects) error {
	b.count(msg)
	h, body, err := b.read(msg, b.due(from))
	if err == nil && from == Parent {
		err = b.fromParent(h, msg[body:], out)
	} else if err == nil {
		err = b.fromChild(from, h, msg[body:], out)
	}
	if err != nil {
		return from.wrong(err)
	}
	return nil
}

var (
	releaseAndAnswers = kindSet(kindRelease, kindFound, kindMissing)
	aggregateAndGet   = kindSet(kindAggregate, kindGet)
	putsAndGet        = kindSet(kindPut, kindAggregate, kindGet)
)

func (b *hier) due(from Peer) kinds {
	switch {
	case from == Parent && !b.cfg.Root:
		return releaseAndAnswers
	case b.child(from) && b.eager:
		return putsAndGet
	case b.child(from):
		return aggregateAndGet
	}
	return 0
}

func (b *hier) fromChild(from Peer, h header, body []byte, out *Effects) error {
	if h.kind == kindGet {
		if h.epoch > b.epoch {
			return fmt.Errorf("offset 1: get of epoch %d in epoch %d", h.epoch, b.epoch)
		}
		key, _ := keyAndValue(h, body)
		if value, found, known := b.lookUp(key); known {
			b.reply(from, h.epoch, key, value, found, out)
		} else {
			b.asked.ask(Parent, key, waiter{to: from, epoch: h.epoch}, out)
		}
		return nil
	}
	if err := b.current(h); err != nil {
		return err
	}
	if h.kind == kindAggregate {
		if err := b.join(from, h); err != nil {
			return err
		}
	} else if b.heard[from] {
		return fmt.Errorf("fence %d: %v after this child's subtree has entered", h.epoch, h.kind)
	}
	for key, value := range entries(body) {
		b.pass(int(from), string(key), string(value), out)
	}
	if h.kind == kindPut {
		return nil
	}
	return b.advance(out)
}

func (b *hier) fromParent(h header, body []byte, out *Effects) error {
	if h.kind == kindRelease {
		if err := b.completion(h); err != nil {
			return err
		}
		b.drop(h, body)
		return b.install(out)
	}
	key, value := keyAndValue(h, body)
	if err := b.asked.takeWaiters(h, key, value, out); err != nil {
		return err
	}
	if h.kind == kindFound { // not older than the last release, which came the same way
		b.known.put(string(key), string(value))
	} else {
		b.absent.miss(key, h.epoch)
	}
	return nil
}

// advance ends this subtree's part of the fence once everyone below is in.
func (b *hier) advance(out *Effects) error {
	if !b.ready() {
		return nil
	}
	ranks, err := b.end()
	if err != nil {
		return err
	}
	b.sent, b.own = b.own, batch{}
	if b.cfg.Root {
		for key := range b.passed.each {
			if _, again := b.known.values[key]; again {
				b.drops.add(key)
			}
		}
		return b.install(out)
	}
	msg := header{kind: kindAggregate, epoch: b.epoch, ranks: ranks}.appendTo(nil)
	if !b.eager {
		if size := len(msg) + b.passed.bytes; size > b.cfg.MaxMessage {
			return fmt.Errorf("fence %d: %d bytes were put, at most %d fit into a message", b.epoch, size, b.cfg.MaxMessage)
		}
		msg = b.passed.appendTo(msg)
	}
	b.send(Parent, msg, out)
	return nil
}

// drop obeys the parent's release, and has the children obey it too.
func (b *hier) drop(h header, body []byte) {
	if h.dropAll {
		b.known, b.passed = table{}, rivals{}
	}
	for key := range keys(body) {
		b.known.drop(string(key))
		b.passed.drop(string(key))
	}
	b.drops.merge(h, body)
}

// install completes the fence at this node.
func (b *hier) install(out *Effects) error {
	b.broadcast(b.drops.message(header{kind: kindRelease, epoch: b.epoch}), out)
	for key, value := range b.passed.each {
		b.known.put(key, value)
	}
	b.passed, b.sent = rivals{}, batch{}
	b.drops.reset()
	b.complete(out)
	for _, key := range b.own.order { // put while the fence was under way
		b.pass(ownPuts, key, b.own.values[key], out)
	}
	return b.advance(out)
}

// Stats implements Board.
func (b *hier) Stats() Stats {
	return b.counts(b.known.size()+b.absent.bytes+b.own.size()+b.sent.size()+
		b.passed.size()+b.drops.size()+b.asked.bytes, b.absent.evicted)
}

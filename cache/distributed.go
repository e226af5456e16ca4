package cache

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
)

// distributed is policy Distributed, which ScELA section 3.4 names as future
// work: each key lives at its home alone, and gets ask the home, with an LRU in
// front.
//
// A fence has two parts. First, when a node's ranks are inside, it sends each home one
// message with the puts it has for it. The home accepts, and says which of the keys it
// knew: from an earlier epoch, or from another node in this one. Copies of these may be
// wrong after the fence. Then, when all its puts are accepted and its children's
// subtrees have entered, it reports this list up; the root answers with the list of
// all, and caches drop the keys on it. So no rank leaves the fence before every home
// has all puts.
type distributed struct {
	base
	homes *homeStore
	own   batch // puts for the fence to come
	sent  batch // puts of the fence under way, which went to their homes
	away  bool  // sent has gone out in this fence
	owing map[job.NodeID]bool
	taken rivals // puts of the fence under way whose home this is
	drops drops  // of this subtree
}

var _ Board = (*distributed)(nil)

func newDistributed(c Config) *distributed {
	b := &distributed{base: newBase(c), owing: map[job.NodeID]bool{}, drops: drops{max: c.MaxDrops}}
	b.homes = newHomes(&b.base)
	return b
}

// Start implements Board.
func (b *distributed) Start(out *Effects) error { return b.advance(out) }

// Put implements Board.
func (b *distributed) Put(key, value []byte, _ *Effects) error {
	if err := b.checkPut(key, value, &b.own); err != nil {
		return err
	}
	b.own.put(string(key), string(value))
	b.stats.Puts++
	return nil
}

// Get implements Board.
func (b *distributed) Get(token uint64, key []byte, out *Effects) {
	b.stats.Gets++
	value, found := b.own.get(key)
	if !found {
		value, found = b.sent.get(key)
	}
	if found {
		b.answer(token, value, true, out)
		return
	}
	b.homes.get(token, key, out)
}

// Enter implements Board.
func (b *distributed) Enter(out *Effects) error {
	if err := b.enter(); err != nil {
		return err
	}
	return b.advance(out)
}

// Receive implements Board.
func (b *distributed) Receive(from Peer, msg []byte, out *Effects) error {
	b.count(msg)
	if err := b.receive(from, msg, out); err != nil {
		return from.wrong(err)
	}
	return nil
}

var (
	releaseOnly = kindSet(kindRelease)
	enteredOnly = kindSet(kindEntered)
	toHomes     = kindSet(kindPut, kindAccepted, kindGet, kindFound, kindMissing)
)

func (b *distributed) due(from Peer) kinds {
	switch {
	case from == Parent && !b.cfg.Root:
		return releaseOnly
	case b.child(from):
		return enteredOnly
	case b.isOther(from):
		return toHomes
	}
	return 0
}

func (b *distributed) receive(from Peer, msg []byte, out *Effects) error {
	h, body, err := b.read(msg, b.due(from))
	if err != nil {
		return err
	}
	switch h.kind {
	case kindRelease:
		if err := b.completion(h); err != nil {
			return err
		}
		b.drops.merge(h, msg[body:])
		return b.install(out)
	case kindEntered:
		if err := b.current(h); err != nil {
			return err
		}
		if err := b.join(from, h); err != nil {
			return err
		}
		b.drops.merge(h, msg[body:])
		return b.advance(out)
	case kindAccepted:
		return b.accepted(from, h, msg[body:], out)
	case kindPut, kindGet:
		if early, err := b.homes.keepEarly(from, h, msg, msg[body:]); early || err != nil {
			return err
		}
	}
	if h.kind == kindPut {
		return b.accept(from, h, msg[body:], out)
	}
	return b.homes.receive(from, h, msg[body:], out)
}

// accept takes the puts that another node has for this home, which their keys were
// found to have.
func (b *distributed) accept(from Peer, h header, body []byte, out *Effects) error {
	if err := b.current(h); err != nil {
		return err
	}
	source, _ := from.Node()
	again := drops{max: b.cfg.MaxDrops}
	for key, value := range entries(body) {
		b.take(source, string(key), string(value), &again)
	}
	b.send(from, again.message(header{kind: kindAccepted, epoch: b.epoch}), out)
	return nil
}

// take takes a put whose home this is, and adds its key to again if it was
// known.
func (b *distributed) take(source job.NodeID, key, value string, again *drops) {
	_, contested := b.taken.offer(int(source), key, value)
	if _, older := b.homes.store.values[key]; older || contested {
		again.add(key)
	}
}

// accepted takes a home's answer to a put.
func (b *distributed) accepted(from Peer, h header, body []byte, out *Effects) error {
	if err := b.current(h); err != nil {
		return err
	}
	home, _ := from.Node()
	if !b.owing[home] {
		return fmt.Errorf("fence %d: accepted where nothing was put", h.epoch)
	}
	delete(b.owing, home)
	b.drops.merge(h, body)
	return b.advance(out)
}

// advance takes the step of the fence that is due.
func (b *distributed) advance(out *Effects) error {
	if b.local() && !b.away && !b.waiting {
		b.away = true
		b.sent, b.own = b.own, batch{}
		b.sendHome(out)
	}
	if !b.away || len(b.owing) > 0 || !b.ready() {
		return nil
	}
	ranks, err := b.end()
	if err != nil {
		return err
	}
	b.away = false
	if b.cfg.Root {
		return b.install(out)
	}
	b.send(Parent, b.drops.message(header{kind: kindEntered, epoch: b.epoch, ranks: ranks}), out)
	b.drops.reset() // the release brings those that count
	return nil
}

// sendHome sends the puts of this node to their homes.
func (b *distributed) sendHome(out *Effects) {
	var homes []Peer // in the order of their first put
	messages := map[Peer][]byte{}
	for _, key := range b.sent.order {
		value := b.sent.values[key]
		home, mine := b.homes.home([]byte(key))
		if mine {
			b.take(b.cfg.Node, key, value, &b.drops)
			continue
		}
		msg, begun := messages[home]
		if !begun {
			homes = append(homes, home)
			msg = header{kind: kindPut, epoch: b.epoch}.appendTo(nil)
		}
		messages[home] = appendEntry(msg, key, value)
	}
	for _, home := range homes {
		n, _ := home.Node()
		b.owing[n] = true
		b.send(home, messages[home], out)
	}
}

// install completes the fence at this node.
func (b *distributed) install(out *Effects) error {
	b.broadcast(b.drops.message(header{kind: kindRelease, epoch: b.epoch}), out)
	if b.drops.all {
		b.homes.lru.clear()
	}
	for _, key := range b.drops.order {
		b.homes.lru.drop([]byte(key))
	}
	for _, key := range b.sent.order {
		if _, mine := b.homes.home([]byte(key)); !mine && !b.drops.has(key) {
			b.homes.lru.put([]byte(key), []byte(b.sent.values[key]), b.epoch+1, true)
		}
	}
	for key, value := range b.taken.each {
		b.homes.store.put(key, value)
	}
	b.sent, b.taken = batch{}, rivals{}
	b.drops.reset()
	b.complete(out)
	if err := b.homes.deliver(b.receive, out); err != nil {
		return err
	}
	return b.advance(out)
}

// Stats implements Board.
func (b *distributed) Stats() Stats {
	return b.counts(b.own.size()+b.sent.size()+b.taken.size()+b.drops.size()+
		len(b.owing)*ownedCost+b.homes.size(), b.homes.lru.evicted)
}

// ownedCost is the bytes that an owed answer takes at a home.
const ownedCost = 32

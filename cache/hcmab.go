package cache

import "fmt"

// hcmab is policy HCMAB (ScELA section 3.2.3): each node sends one aggregate of
// its own and its children's puts up when everything below it has entered the
// fence; the root broadcasts the merged aggregate, and every node installs it.
//
// With homes it is HCMAB-LRU (section 3.2.4): a node installs of the broadcast the keys
// whose home it is, and as many others as its LRU has room for. The broadcast comes in
// parts, which a node passes on as they come, so that only the nodes that merge a long
// one ever hold it.
type hcmab struct {
	base
	state state
	homes *homeStore // instead of state; nil for HCMAB
	own   batch      // puts for the fence to come
	sent  batch      // puts that went up and have not come back

	subs    [][]byte // by child: the entries of its aggregate
	subSize int      // bytes in subs
}

var _ Board = (*hcmab)(nil)

// newHCMAB makes a board of HCMAB, or with homes of HCMAB-LRU.
func newHCMAB(c Config, homes bool) *hcmab {
	b := &hcmab{base: newBase(c), subs: make([][]byte, c.Children)}
	if homes {
		b.homes = newHomes(&b.base)
	}
	return b
}

// Start implements Board.
func (b *hcmab) Start(out *Effects) error { return b.advance(out) }

// Put implements Board.
func (b *hcmab) Put(key, value []byte, _ *Effects) error {
	if err := b.checkPut(key, value, &b.own); err != nil {
		return err
	}
	b.own.put(string(key), string(value))
	b.stats.Puts++
	return nil
}

// Get implements Board: without homes the answer is always in out on return.
func (b *hcmab) Get(token uint64, key []byte, out *Effects) {
	b.stats.Gets++
	value, found := b.own.get(key)
	if !found {
		value, found = b.sent.get(key)
	}
	if !found && b.homes != nil {
		b.homes.get(token, key, out)
		return
	}
	if !found {
		value, found = b.state.get(key)
	}
	b.answer(token, value, found, out)
}

// Enter implements Board.
func (b *hcmab) Enter(out *Effects) error {
	if err := b.enter(); err != nil {
		return err
	}
	return b.advance(out)
}

// Receive implements Board.
func (b *hcmab) Receive(from Peer, msg []byte, out *Effects) error {
	b.count(msg)
	if err := b.receive(from, msg, out); err != nil {
		return from.wrong(err)
	}
	return nil
}

var (
	stateOnly     = kindSet(kindState)
	aggregateOnly = kindSet(kindAggregate)
	stateInParts  = kindSet(kindPart, kindState)
	getAndAnswers = kindSet(kindGet, kindFound, kindMissing)
)

func (b *hcmab) due(from Peer) kinds {
	switch {
	case from == Parent && !b.cfg.Root && b.homes != nil:
		return stateInParts
	case from == Parent && !b.cfg.Root:
		return stateOnly
	case b.child(from):
		return aggregateOnly
	case b.homes != nil && b.isOther(from):
		return getAndAnswers
	}
	return 0
}

func (b *hcmab) receive(from Peer, msg []byte, out *Effects) error {
	h, body, err := b.read(msg, b.due(from))
	if err != nil {
		return err
	}
	switch h.kind {
	case kindPart, kindState:
		if err := b.completion(h); err != nil {
			return err
		}
		if h.kind == kindPart {
			b.pass(msg, body, out)
			return nil
		}
		return b.install(msg, body, out)
	case kindAggregate:
		if err := b.current(h); err != nil {
			return err
		}
		if err := b.join(from, h); err != nil {
			return err
		}
		b.subs[from] = msg[body:]
		b.subSize += len(msg) - body
		return b.advance(out)
	case kindGet:
		if early, err := b.homes.keepEarly(from, h, msg, msg[body:]); early || err != nil {
			return err
		}
	}
	return b.homes.receive(from, h, msg[body:], out)
}

// advance ends this subtree's part of the fence once everyone below is in.
func (b *hcmab) advance(out *Effects) error {
	if !b.ready() {
		return nil
	}
	size := maxHeader + b.own.bytes + b.subSize
	stream := b.cfg.Root && b.homes != nil
	if size > b.cfg.MaxMessage && !stream {
		return fmt.Errorf("fence %d: %d bytes were put, at most %d fit into a message", b.epoch, size, b.cfg.MaxMessage)
	}
	ranks, err := b.end()
	if err != nil {
		return err
	}
	b.sent, b.own = b.own, batch{}
	if stream {
		msg, body := b.parts(out)
		return b.install(msg, body, out)
	}
	h := header{kind: kindAggregate, epoch: b.epoch, ranks: ranks}
	if b.cfg.Root {
		h.kind = kindState
	}
	msg := h.appendTo(make([]byte, 0, size))
	body := len(msg)
	msg = b.sent.appendTo(msg)
	for _, sub := range b.takeSubs() {
		msg = append(msg, sub...)
	}
	if b.cfg.Root {
		return b.install(msg, body, out)
	}
	b.send(Parent, msg, out)
	return nil
}

// takeSubs returns the children's entries by slot, which is pre-order: of the
// entries of a key the last one wins.
func (b *hcmab) takeSubs() [][]byte {
	subs := b.subs
	b.subs, b.subSize = make([][]byte, len(subs)), 0
	return subs
}

// parts passes all parts of the root's broadcast on but the last, the state message,
// which it returns. Puts that lose are left out: a get between two parts must not see
// them.
func (b *hcmab) parts(out *Effects) (state []byte, body int) {
	var round rivals
	for _, key := range b.sent.order {
		round.offer(ownPuts, key, b.sent.values[key])
	}
	for i, sub := range b.takeSubs() {
		for key, value := range entries(sub) {
			round.offer(i, string(key), string(value))
		}
	}
	h := header{kind: kindPart, epoch: b.epoch}
	msg := h.appendTo(nil)
	body = len(msg)
	for key, value := range round.each {
		if len(msg) > body && len(msg)+entrySize(len(key), len(value)) > b.cfg.MaxPart {
			b.pass(msg, body, out)
			msg = h.appendTo(make([]byte, 0, len(msg)))
		}
		msg = appendEntry(msg, key, value)
	}
	msg[0] = byte(kindState) // of the same header
	return msg, body
}

// pass passes a part of the broadcast on and installs it.
func (b *hcmab) pass(msg []byte, body int, out *Effects) {
	b.broadcast(msg, out)
	b.homes.install(msg[body:], &b.sent)
}

// install completes the fence at this node: msg is the state message it passes
// on and installs.
func (b *hcmab) install(msg []byte, body int, out *Effects) error {
	if b.homes == nil {
		b.sent = batch{} // all of them are in the state, or were superseded there
		b.broadcast(msg, out)
		b.state.install(b.cfg.Share(msg[body:]))
		b.complete(out)
		return b.advance(out) // a node below which no rank lives is ready again at once
	}
	b.pass(msg, body, out)
	b.sent = batch{} // all of them are at their homes, or were superseded there
	b.complete(out)
	if err := b.homes.deliver(b.receive, out); err != nil {
		return err
	}
	return b.advance(out)
}

// Stats implements Board.
func (b *hcmab) Stats() Stats {
	held := b.state.size() + b.own.size() + b.sent.size() + b.subSize
	if b.homes == nil {
		return b.counts(held, 0)
	}
	return b.counts(held+b.homes.size(), b.homes.lru.evicted)
}

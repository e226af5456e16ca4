package cache

import "fmt"

// hcmab is policy HCMAB: each node sends one aggregate of its own and its
// children's puts up when everything below it has entered the fence; the root
// broadcasts the merged aggregate, and every node installs it.
type hcmab struct {
	cfg   Config
	state state
	own   batch // puts for the fence to come
	sent  batch // puts that went up and have not come back
	epoch Epoch

	// The fence under way.
	entered int      // local ranks inside
	heard   int      // children whose aggregate is here
	ranks   int      // ranks below those children
	subs    [][]byte // by child: its aggregate, nil until it is here
	bodies  []int    // by child: offset of the first entry in its aggregate
	subSize int      // bytes of entries in subs
	waiting bool     // the aggregate went up, the state has not come down

	stats Stats
}

var _ Board = (*hcmab)(nil)

func newHCMAB(c Config) *hcmab {
	return &hcmab{cfg: c, subs: make([][]byte, c.Children), bodies: make([]int, c.Children)}
}

// Start implements Board.
func (b *hcmab) Start(out *Effects) error { return b.advance(out) }

// Put implements Board.
func (b *hcmab) Put(key, value []byte, _ *Effects) error {
	switch {
	case len(key) == 0:
		return fmt.Errorf("put: empty key")
	case len(key) > b.cfg.MaxKey:
		return fmt.Errorf("put: key of %d bytes, at most %d are allowed", len(key), b.cfg.MaxKey)
	case len(value) > b.cfg.MaxValue:
		return fmt.Errorf("put: value of %d bytes, at most %d are allowed", len(value), b.cfg.MaxValue)
	case maxHeader+b.own.bytes+b.own.grow(key, value) > b.cfg.MaxMessage:
		return fmt.Errorf("put: this node's puts since the last fence would exceed %d bytes", b.cfg.MaxMessage)
	}
	b.own.put(key, value)
	b.stats.Puts++
	return nil
}

// Get implements Board: the answer is always in out on return.
func (b *hcmab) Get(token uint64, key []byte, out *Effects) {
	value, found := b.own.get(key)
	if !found {
		value, found = b.sent.get(key)
	}
	if !found {
		value, found = b.state.get(key)
	}
	b.stats.Gets++
	if !found {
		b.stats.Misses++
	}
	out.Answers = append(out.Answers, Answer{Token: token, Value: value, Found: found})
}

// Enter implements Board.
func (b *hcmab) Enter(out *Effects) error {
	if b.entered == b.cfg.LocalRanks {
		return fmt.Errorf("fence %d: more than the node's %d ranks entered", b.epoch, b.cfg.LocalRanks)
	}
	b.entered++
	return b.advance(out)
}

// Receive implements Board.
func (b *hcmab) Receive(from Peer, msg []byte, out *Effects) error {
	b.stats.Received++
	b.stats.ReceivedBytes += uint64(len(msg))
	if err := b.receive(from, msg, out); err != nil {
		return fmt.Errorf("board message from %v: %w", from, err)
	}
	return nil
}

func (b *hcmab) receive(from Peer, msg []byte, out *Effects) error {
	want := kindAggregate
	switch {
	case from == Parent && !b.cfg.Root:
		want = kindState
	case from < 0 || int(from) >= b.cfg.Children:
		return fmt.Errorf("no such neighbour")
	}
	if len(msg) > b.cfg.MaxMessage {
		return fmt.Errorf("%d bytes, at most %d are allowed", len(msg), b.cfg.MaxMessage)
	}
	h, body, err := parseHeader(msg, b.cfg.Size)
	switch {
	case err != nil:
		return err
	case h.kind != want:
		return fmt.Errorf("offset 0: %v where %v is due", h.kind, want)
	case h.epoch != b.epoch:
		return fmt.Errorf("offset 1: fence %d while fence %d is under way", h.epoch, b.epoch)
	}
	if err := checkEntries(msg, body, b.cfg.MaxKey, b.cfg.MaxValue); err != nil {
		return err
	}
	if from == Parent {
		if !b.waiting {
			return fmt.Errorf("fence %d: state before this subtree has entered", h.epoch)
		}
		return b.complete(msg, body, out)
	}
	if b.subs[from] != nil {
		return fmt.Errorf("fence %d: second aggregate", h.epoch)
	}
	b.subs[from], b.bodies[from] = msg, body
	b.subSize += len(msg) - body
	b.heard++
	b.ranks += h.ranks
	return b.advance(out)
}

// advance ends this subtree's part of the fence once everyone below is in.
func (b *hcmab) advance(out *Effects) error {
	if b.waiting || b.entered < b.cfg.LocalRanks || b.heard < b.cfg.Children {
		return nil
	}
	size := maxHeader + b.own.bytes + b.subSize
	if size > b.cfg.MaxMessage {
		return fmt.Errorf("fence %d: %d bytes were put, at most %d fit into a message", b.epoch, size, b.cfg.MaxMessage)
	}
	h := header{kind: kindAggregate, epoch: b.epoch, ranks: b.entered + b.ranks}
	if b.cfg.Root {
		if h.ranks != b.cfg.Size {
			return fmt.Errorf("fence %d: the tree holds %d ranks, the world has %d", b.epoch, h.ranks, b.cfg.Size)
		}
		h.kind = kindState
	}
	msg := h.appendTo(make([]byte, 0, size))
	body := len(msg)
	msg = b.own.appendTo(msg)
	for i, sub := range b.subs { // by slot: pre-order, the last entry of a key wins
		msg = append(msg, sub[b.bodies[i]:]...)
		b.subs[i] = nil
	}
	b.entered, b.heard, b.ranks, b.subSize = 0, 0, 0, 0
	b.sent, b.own = b.own, batch{}
	if b.cfg.Root {
		return b.complete(msg, body, out)
	}
	b.waiting = true
	b.send(Parent, msg, out)
	return nil
}

// complete ends the fence at this node: msg is the state message it passes on
// and installs.
func (b *hcmab) complete(msg []byte, body int, out *Effects) error {
	for i := range b.subs {
		b.send(Peer(i), msg, out)
	}
	b.state.install(string(msg[body:]))
	b.sent = batch{} // all of them are in the state, or were superseded there
	b.waiting = false
	b.epoch++
	out.Released = append(out.Released, Release{Epoch: b.epoch})
	if b.cfg.Root {
		return nil
	}
	return b.advance(out) // a node below which no rank lives is ready again at once
}

func (b *hcmab) send(to Peer, msg []byte, out *Effects) {
	b.stats.Sent++
	b.stats.SentBytes += uint64(len(msg))
	out.Sends = append(out.Sends, Send{To: to, Msg: msg})
}

// Stats implements Board.
func (b *hcmab) Stats() Stats {
	s := b.stats
	s.Epoch = b.epoch
	s.Resident = b.state.size() + b.own.size() + b.sent.size() + b.subSize
	return s
}

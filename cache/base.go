package cache

import "fmt"

// base holds the state that all policies share: the fence under way, and counts.
type base struct {
	cfg     Config
	epoch   Epoch
	entered int    // local ranks inside
	heard   []bool // by child: all of its subtree is inside
	missing int    // children not heard
	ranks   int    // ranks below the children heard
	waiting bool   // this subtree is inside, the fence is not complete

	stats Stats
}

func newBase(c Config) base {
	return base{cfg: c, heard: make([]bool, c.Children), missing: c.Children}
}

// enter counts a local rank in.
func (f *base) enter() error {
	if f.entered == f.cfg.LocalRanks {
		return fmt.Errorf("fence %d: more than the node's %d ranks entered", f.epoch, f.cfg.LocalRanks)
	}
	f.entered++
	return nil
}

// local reports whether all local ranks are inside.
func (f *base) local() bool { return f.entered == f.cfg.LocalRanks }

// join counts a child's subtree in.
func (f *base) join(child Peer, h header) error {
	if f.heard[child] {
		return fmt.Errorf("fence %d: second %v", h.epoch, h.kind)
	}
	if f.cfg.Below != nil && h.ranks != f.cfg.Below[child] {
		return fmt.Errorf("fence %d: %d ranks of the child's %d", h.epoch, h.ranks, f.cfg.Below[child])
	}
	f.heard[child] = true
	f.missing--
	f.ranks += h.ranks
	return nil
}

// ready reports whether this subtree's part of the fence can end.
func (f *base) ready() bool { return !f.waiting && !f.cfg.Lacking && f.local() && f.missing == 0 }

// end ends this subtree's part of the fence and returns the number of its
// ranks. At the root the fence is complete with it.
func (f *base) end() (ranks int, err error) {
	ranks = f.entered + f.ranks
	if f.cfg.Root && ranks != f.cfg.Size {
		return 0, fmt.Errorf("fence %d: the tree holds %d ranks, the world has %d", f.epoch, ranks, f.cfg.Size)
	}
	clear(f.heard)
	f.entered, f.ranks, f.missing = 0, 0, f.cfg.Children
	f.waiting = true
	return ranks, nil
}

// complete begins the next epoch.
func (f *base) complete(out *Effects) {
	f.waiting = false
	f.epoch++
	out.Released = append(out.Released, Release{Epoch: f.epoch})
}

// checkPut reports why b cannot take a put.
func (f *base) checkPut(key, value []byte, b *batch) error {
	switch {
	case len(key) == 0:
		return fmt.Errorf("put: empty key")
	case len(key) > f.cfg.MaxKey:
		return fmt.Errorf("put: key of %d bytes, at most %d are allowed", len(key), f.cfg.MaxKey)
	case len(value) > f.cfg.MaxValue:
		return fmt.Errorf("put: value of %d bytes, at most %d are allowed", len(value), f.cfg.MaxValue)
	case maxHeader+b.bytes+b.grow(key, value) > f.cfg.MaxMessage:
		return fmt.Errorf("put: this node's puts since the last fence would exceed %d bytes", f.cfg.MaxMessage)
	}
	return nil
}

// count counts a message received.
func (f *base) count(msg []byte) {
	f.stats.Received++
	f.stats.ReceivedBytes += uint64(len(msg))
}

// read checks a message of which one of the due kinds may come from its sender,
// none if it is a stranger, and returns its header and the offset of its body.
func (f *base) read(msg []byte, due kinds) (h header, body int, err error) {
	switch {
	case due == 0:
		return h, 0, fmt.Errorf("no such neighbor")
	case len(msg) > f.cfg.MaxMessage:
		return h, 0, fmt.Errorf("%d bytes, at most %d are allowed", len(msg), f.cfg.MaxMessage)
	}
	if h, body, err = parseHeader(msg, f.cfg.Size); err != nil {
		return h, body, err
	}
	if !due.has(h.kind) {
		return h, body, fmt.Errorf("offset 0: %v where %v is due", h.kind, due)
	}
	return h, body, checkBody(msg, body, h.kind, f.cfg.MaxKey, f.cfg.MaxValue)
}

// child reports whether p is a child.
func (f *base) child(p Peer) bool { return p >= 0 && int(p) < f.cfg.Children }

// isOther reports whether p is another node of the world.
func (f *base) isOther(p Peer) bool {
	n, ok := p.Node()
	return ok && int(n) < f.cfg.Nodes && n != f.cfg.Node
}

// current checks that a message belongs to the fence under way.
func (f *base) current(h header) error {
	if h.epoch != f.epoch {
		return fmt.Errorf("offset 1: fence %d while fence %d is under way", h.epoch, f.epoch)
	}
	return nil
}

// completion checks that h, a message that completes a fence, may come now.
func (f *base) completion(h header) error {
	if err := f.current(h); err != nil {
		return err
	}
	if !f.waiting {
		return fmt.Errorf("fence %d: %v before this subtree has entered", h.epoch, h.kind)
	}
	return nil
}

func (f *base) send(to Peer, msg []byte, out *Effects) {
	f.stats.Sent++
	f.stats.SentBytes += uint64(len(msg))
	out.Sends = append(out.Sends, Send{To: to, Msg: msg})
}

// broadcast sends msg to each child.
func (f *base) broadcast(msg []byte, out *Effects) {
	for i := range f.cfg.Children {
		f.send(Peer(i), msg, out)
	}
}

func (f *base) answer(token uint64, value string, found bool, out *Effects) {
	if !found {
		f.stats.NotFound++
	}
	out.Answers = append(out.Answers, Answer{Token: token, Value: value, Found: found})
}

// counts returns the Stats of a node that holds resident bytes and has given
// evicted entries up.
func (f *base) counts(resident int, evicted uint64) Stats {
	s := f.stats
	s.Epoch, s.Resident, s.Evictions = f.epoch, resident, evicted
	return s
}

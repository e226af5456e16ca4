package cache

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
)

// Home returns the node that holds the authoritative copy of a world's key under the
// policies that use homes: a hash of world and key (FNV-1a, its bits mixed)
// modulo nodes, which must be positive.
func Home(world string, key []byte, nodes int) job.NodeID {
	h := uint64(14695981039346656037)
	for i := range len(world) {
		h = (h ^ uint64(world[i])) * 1099511628211
	}
	h *= 1099511628211 // as for a zero byte: worlds and keys do not run together
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return job.NodeID((h >> 32) % uint64(nodes))
}

// homeStore is the common part of hcmab-lru and distributed: the authoritative copies of
// the keys whose home this node is, an LRU of others, and gets that ask a home.
type homeStore struct {
	base  *base
	store table
	lru   lru
	asked asked

	// later is messages of nodes that have completed a fence of which this one
	// has not heard yet.
	later      []mail
	laterBytes int
	laterOf    map[Peer]int // bytes of each node; nil for none
}

type mail struct {
	from Peer
	msg  []byte
}

func newHomes(f *base) *homeStore {
	return &homeStore{base: f, lru: newLRU(f.cfg.Budget), asked: asked{base: f}}
}

// home returns a key's home, and whether it is this node.
func (s *homeStore) home(key []byte) (home Peer, mine bool) {
	n := Home(s.base.cfg.World, key, s.base.cfg.Nodes)
	return Node(n), n == s.base.cfg.Node
}

// get answers a rank of this node, or asks key's home.
func (s *homeStore) get(token uint64, key []byte, out *Effects) {
	home, mine := s.home(key)
	var value string
	var found bool
	known := true
	if mine {
		value, found = s.store.get(key)
	} else {
		value, found, known = s.lru.get(key, s.base.epoch)
	}
	if known {
		s.base.answer(token, value, found, out)
		return
	}
	s.asked.ask(home, key, waiter{to: here, token: token}, out)
}

// install takes the entries of a fence that completes, of which own are this
// node's.
func (s *homeStore) install(body []byte, own *batch) {
	for key, value := range entries(body) {
		if _, mine := s.home(key); mine {
			s.store.put(string(key), string(value))
		} else {
			_, mine := own.values[string(key)]
			s.lru.put(key, value, s.base.epoch+1, mine)
		}
	}
}

// receive takes a get, or the answer to one.
func (s *homeStore) receive(from Peer, h header, body []byte, out *Effects) error {
	key, value := keyAndValue(h, body)
	if h.kind == kindGet { // this is its home
		value, found := s.store.get(key)
		s.base.reply(from, h.epoch, key, value, found, out)
		return nil
	}
	if home, _ := s.home(key); home != from {
		return fmt.Errorf("%v: the home of %q is elsewhere", h.kind, key)
	}
	if err := s.asked.takeWaiters(h, key, value, out); err != nil {
		return err
	}
	switch {
	case h.epoch != s.base.epoch || s.base.waiting: // for a rank that did not wait: a fence may have made it old
	case h.kind == kindFound:
		s.lru.learn(key, value)
	default:
		s.lru.miss(key, h.epoch)
	}
	return nil
}

// keepEarly reports whether a get or put is of the epoch to come, and keeps it for
// then. One that is not for this home it refuses.
func (s *homeStore) keepEarly(from Peer, h header, msg, body []byte) (bool, error) {
	if err := s.checkHome(h, body); err != nil {
		return false, err
	}
	switch epoch := s.base.epoch; {
	case h.epoch <= epoch:
		return false, nil
	case h.epoch > epoch+1:
		return false, fmt.Errorf("offset 1: %v of epoch %d in epoch %d", h.kind, h.epoch, epoch)
	}
	cost := len(msg) + mailCost
	if most := s.maxKept(); s.laterOf[from]+cost > most {
		return false, fmt.Errorf("%v of epoch %d in epoch %d: more than %d bytes of one node would be kept", h.kind, h.epoch, s.base.epoch, most)
	}
	if s.laterOf == nil {
		s.laterOf = make(map[Peer]int)
	}
	s.laterOf[from] += cost
	s.later = append(s.later, mail{from, msg})
	s.laterBytes += cost
	return true, nil
}

// checkHome refuses keys of a get or put whose home this is not.
func (s *homeStore) checkHome(h header, body []byte) error {
	check := func(key []byte) error {
		if _, mine := s.home(key); !mine {
			return fmt.Errorf("%v: the home of %q is elsewhere", h.kind, key)
		}
		return nil
	}
	if h.kind == kindGet {
		key, _ := keyAndValue(h, body)
		return check(key)
	}
	for key := range entries(body) {
		if err := check(key); err != nil {
			return err
		}
	}
	return nil
}

// maxKept returns the most bytes that are kept of one node: the puts of a fence, and a
// get of each rank of the world, which waits for its answer.
func (s *homeStore) maxKept() int {
	c := &s.base.cfg
	return c.MaxMessage + mailCost + c.Size*(maxHeader+fieldSize(c.MaxKey)+mailCost)
}

// mailCost is the bytes that a kept message takes on top of its own.
const mailCost = 2 * 32

// deliver hands messages kept for the epoch that has begun to receive.
func (s *homeStore) deliver(receive func(Peer, []byte, *Effects) error, out *Effects) error {
	due := s.later
	s.later, s.laterBytes, s.laterOf = nil, 0, nil
	for _, m := range due {
		if err := receive(m.from, m.msg, out); err != nil {
			return fmt.Errorf("kept until fence %d: %w", s.base.epoch, err)
		}
	}
	return nil
}

// size estimates the memory held, in bytes.
func (s *homeStore) size() int { return s.store.size() + s.lru.bytes + s.asked.bytes + s.laterBytes }

package cache

import (
	"fmt"
	"math"
)

// asked is the gets that wait for another node's answer. Gets of one key that
// come while one is under way wait for the same answer.
type asked struct {
	base  *base
	open  map[question][]waiter
	bytes int
}

// question is a key in an epoch.
type question struct {
	epoch Epoch
	key   string
}

// waiter is owed an answer: a peer that asked in its epoch, or a rank here with its
// token.
type waiter struct {
	to    Peer
	epoch Epoch
	token uint64
}

// here stands for the ranks of this node among waiters.
const here Peer = math.MaxInt

// waiterCost and questionCost are the bytes that a waiter, and a question on top of its
// key, take.
const (
	waiterCost   = 2 * 24
	questionCost = indexCost + 24
)

// ask makes w wait for whom to say key's value.
func (a *asked) ask(whom Peer, key []byte, w waiter, out *Effects) {
	if w.to == here {
		a.base.stats.Misses++
	}
	q := question{a.base.epoch, string(key)}
	waiters, open := a.open[q]
	if a.open == nil {
		a.open = make(map[question][]waiter)
	}
	a.open[q] = append(waiters, w)
	a.bytes += waiterCost
	if open {
		return
	}
	a.bytes += len(key) + questionCost
	h := header{kind: kindGet, epoch: q.epoch}
	a.base.send(whom, appendField(h.appendTo(make([]byte, 0, maxHeader+fieldSize(len(key)))), key), out)
}

// takeWaiters passes the answer, with header h, on to its waiters.
func (a *asked) takeWaiters(h header, key, value []byte, out *Effects) error {
	q := question{h.epoch, string(key)}
	waiters, open := a.open[q]
	if !open {
		return fmt.Errorf("%v: nobody asked for %q in epoch %d", h.kind, key, h.epoch)
	}
	delete(a.open, q)
	a.bytes -= len(key) + questionCost + len(waiters)*waiterCost
	found, copied := h.kind == kindFound, string(value)
	for _, w := range waiters {
		if w.to == here {
			a.base.answer(w.token, copied, found, out)
		} else {
			a.base.reply(w.to, w.epoch, key, copied, found, out)
		}
	}
	return nil
}

// reply answers a peer that asked for key in epoch.
func (f *base) reply(to Peer, epoch Epoch, key []byte, value string, found bool, out *Effects) {
	h := header{kind: kindMissing, epoch: epoch}
	if found {
		h.kind = kindFound
	}
	msg := appendField(h.appendTo(make([]byte, 0, maxHeader+entrySize(len(key), len(value)))), key)
	if found {
		msg = appendField(msg, value)
	}
	f.send(to, msg, out)
}

// keyAndValue reads the body of a get, found or missing.
func keyAndValue(h header, body []byte) (key, value []byte) {
	from, to, _ := field(body, 0)
	key = body[from:to]
	if h.kind == kindFound {
		from, to, _ = field(body, to)
		value = body[from:to]
	}
	return key, value
}

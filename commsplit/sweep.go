package commsplit

import "math/bits"

// sweep is a binomial tree over the processes lo..hi-1, rooted at lo. A node's
// subtree is the consecutive processes from itself on.
type sweep struct{ id, lo, hi int }

func (s sweep) root() bool { return s.id == s.lo }

// parent returns the node above; the root has none.
func (s sweep) parent() int {
	x := s.id - s.lo
	return s.id - x&-x
}

// children returns the nodes below, in order.
func (s sweep) children() []int {
	x := s.id - s.lo
	width := 1 << bits.Len(uint(s.hi-s.lo))
	if x > 0 {
		width = x & -x
	}
	var list []int
	for d := 1; d < width && s.id+d < s.hi; d *= 2 {
		list = append(list, s.id+d)
	}
	return list
}

// up awaits a message of each child, has them combined with this node's own
// and sends the result to the parent; then goes on.
func (s sweep) up(tag Tag, combine func(in []Message) Message, then stage) stage {
	return func(_ []Message, out *Outbox) stage {
		out.await(tag, len(s.children()))
		return func(in []Message, out *Outbox) stage {
			m := combine(in)
			if !s.root() {
				m.To, m.Tag = s.parent(), tag
				out.send(m)
			}
			return then
		}
	}
}

// down hands use the parent's message, a zero one at the root, and sends each child the
// one that use returns for it.
func (s sweep) down(tag Tag, use func(m Message) (toChildren []Message), then stage) stage {
	return func(_ []Message, out *Outbox) stage {
		if !s.root() {
			out.await(tag, 1)
		}
		return func(in []Message, out *Outbox) stage {
			var m Message
			if len(in) > 0 {
				m = in[0]
			}
			messages := use(m)
			for i, child := range s.children() {
				m := messages[i]
				m.To, m.Tag = child, tag
				out.send(m)
			}
			return then
		}
	}
}

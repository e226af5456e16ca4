package collective_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// theirCall is a member's call, with a check that its result comes of members that made
// the same call: each gives bytes of its rank plus one.
type theirCall struct {
	op   record.Op
	root int
	size int
	fn   uint8
}

func (k theirCall) String() string {
	return fmt.Sprintf("%v of %d bytes, root %d, function %d", k.op, k.size, k.root, k.fn)
}

// begin makes the call, and tells how to see whether what came is right.
func (k theirCall) begin(c *member.Comm) (q *member.Request, right func() bool) {
	p, me := c.Size(), c.Rank()
	from := func(rank, n int) []byte { return bytes.Repeat([]byte{byte(rank + 1)}, n) }
	var all []byte
	for i := range p {
		all = append(all, from(i, k.size)...)
	}
	got, want := make([]byte, p*k.size), all
	switch part := got[:k.size]; k.op {
	case record.Barrier:
		return c.Barrier(), func() bool { return true }
	case record.Split:
		return c.Split(0, 0), func() bool { return true }
	case record.Bcast:
		copy(part, from(me, k.size))
		q, got, want = c.Bcast(k.root, part), part, from(k.root, k.size)
	case record.Scatter:
		q, got, want = c.Scatter(k.root, from(me, p*k.size), part), part, from(k.root, k.size)
	case record.Gather:
		if q = c.Gather(k.root, from(me, k.size), got); me != k.root {
			got, want = nil, nil
		}
	case record.AllGather:
		q = c.AllGather(from(me, k.size), got)
	case record.AllToAll:
		q = c.AllToAll(from(me, p*k.size), got)
	case record.Reduce:
		q, got, want = c.Reduce(k.root, k.fn, from(me, k.size), part), nil, nil
	default:
		q, got, want = c.AllReduce(k.fn, from(me, k.size), part), nil, nil
	}
	return q, func() bool { return bytes.Equal(got, want) }
}

// theirCalls returns calls of every operation, short and long, with two roots and
// functions.
func theirCalls(last int) (list []theirCall) {
	list = []theirCall{{op: record.Barrier}, {op: record.Split}}
	for _, op := range []record.Op{record.Bcast, record.Gather, record.Scatter, record.Reduce, record.AllGather, record.AllToAll, record.AllReduce} {
		for _, size := range []int{8, 16, 70_000} {
			for _, root := range []int{0, last} {
				if root > 0 && op >= record.AllGather && op != record.Reduce && op != record.Scatter {
					continue
				}
				k := theirCall{op: op, root: root, size: size}
				if op == record.Reduce || op == record.AllReduce {
					k.fn = record.Uint8 | record.Sum
				}
				list = append(list, k)
			}
		}
	}
	return append(list, theirCall{op: record.AllReduce, size: 8, fn: record.Int64 | record.Sum}, theirCall{op: record.AllReduce, size: 8, fn: record.Uint8 | record.Max})
}

// TestWhoDisagreesLearnsIt has some members make any one call and the others any other, over
// the world and over a communicator that a split made, on one node and on several. A call that
// returns without an error has brought what those gave that make the same; whoever waits on
// learns that members disagree, and who calls what, at the latest once its agent asks; and
// so does everyone in the next operation.
func TestWhoDisagreesLearnsIt(t *testing.T) {
	const members = 4
	rng := seeded(3)
	list := theirCalls(members - 1)
	for _, most := range list {
		for _, few := range list {
			if most == few {
				continue
			}
			nodes, split, odd := []int{1, 2, 4}[rng.IntN(3)], rng.IntN(2) == 0, rng.IntN(1<<members-2)+1 // the few, as bits
			name := fmt.Sprintf("%v; %v of %b on %d nodes, split %v", most, few, odd, nodes, split)
			s := newSim(rng, nodes, 2, blocks(nodes, members/nodes))
			comms := make([]*member.Comm, members)
			for i, e := range s.ends[:members] {
				comms[i] = e.World()
			}
			if split { // the other way round, so that there is a table
				var made []*member.Request
				for i, e := range s.ends[:members] {
					s.do(e, func() { made = append(made, e.World().Split(0, -i)) })
				}
				s.outcomes(t, made...)
				for _, q := range made {
					comms[q.Made().Rank()] = q.Made()
				}
			}
			endOf := func(rank int) *simEnd {
				if split {
					return s.ends[members-1-rank]
				}
				return s.ends[rank]
			}
			requests, rights := make([]*member.Request, members), make([]func() bool, members)
			for rank, c := range comms {
				s.do(endOf(rank), func() {
					k := most
					if odd>>rank&1 == 1 {
						k = few
					}
					requests[rank], rights[rank] = k.begin(c)
				})
			}
			s.run()
			for _, n := range s.nodes { // as members do that wait for long
				for _, w := range n.Waits(8) {
					n.Doubt(w.Comm, w.Seq)
				}
				var out collective.Effects
				s.flush(n, &out)
			}
			for rank, err := range s.outcomes(t, requests...) {
				if err == nil {
					require.True(t, rights[rank](), "%s: member %d has wrong data", name, rank)
				} else {
					requireMismatch(t, err, name, 0)
				}
			}
			for rank, c := range comms {
				s.do(endOf(rank), func() { requests[rank] = c.Barrier() })
			}
			for _, err := range s.outcomes(t, requests...) {
				requireMismatch(t, err, name, 0)
			}
		}
	}
}

// requireMismatch wants an error that says what both sides call.
func requireMismatch(t *testing.T, err error, name string, seq int) {
	t.Helper()
	var why *member.Failure
	require.True(t, errors.As(err, &why), "%s: %v", name, err)
	require.Equal(t, record.CauseMismatch, why.Cause, "%s: %v", name, err)
	require.Regexp(t, fmt.Sprintf("^operation %d of .*: .* calls? .*; .* calls? ", seq), err.Error(), name)
}

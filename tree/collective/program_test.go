package collective_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// step is one operation of a program that all members of a communicator run.
type step struct {
	op   string
	root int
	size int
}

var allOps = []string{"barrier", "bcast", "gather", "allgather", "scatter", "alltoall", "reduce", "allreduce", "scan", "ring", "pairs"}

const sumOfInts = record.Int64 | record.Sum

// value is byte i of what member src has for dst in operation number n.
func value(n, src, dst, i int) byte { return byte(n*31 + src*7 + dst*13 + i*3 + i>>8) }

func fill(n, src, dst, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = value(n, src, dst, i)
	}
	return b
}

func ints(f func(i int) int64, size int) []byte {
	b := make([]byte, size)
	for i := 0; i < size; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(f(i)))
	}
	return b
}

// outcome is that of one member's part in one step.
type outcome struct {
	done bool
	err  error
}

// begin starts operation number n of a program for member c.Rank, and calls end when it
// is complete: with an error if the result differs from a naive implementation's.
func begin(c *member.Comm, n int, st step, end func(error)) {
	p, me, size := c.Size(), c.Rank(), st.size
	var q *member.Request
	var got, want []byte
	concat := func(f func(i int) []byte) []byte {
		var all []byte
		for i := range p {
			all = append(all, f(i)...)
		}
		return all
	}
	switch st.op {
	case "barrier":
		q = c.Barrier()
	case "bcast":
		want = fill(n, st.root, 0, size)
		got = make([]byte, size)
		if me == st.root {
			copy(got, want)
		}
		q = c.Bcast(st.root, got)
	case "gather":
		if me == st.root {
			got = make([]byte, p*size)
			want = concat(func(i int) []byte { return fill(n, i, 0, size) })
		}
		q = c.Gather(st.root, fill(n, me, 0, size), got)
	case "allgather":
		got = make([]byte, p*size)
		want = concat(func(i int) []byte { return fill(n, i, 0, size) })
		q = c.AllGather(fill(n, me, 0, size), got)
	case "scatter":
		var send []byte
		if me == st.root {
			send = concat(func(i int) []byte { return fill(n, me, i, size) })
		}
		got, want = make([]byte, size), fill(n, st.root, me, size)
		q = c.Scatter(st.root, send, got)
	case "alltoall":
		got = make([]byte, p*size)
		want = concat(func(i int) []byte { return fill(n, i, me, size) })
		q = c.AllToAll(concat(func(i int) []byte { return fill(n, me, i, size) }), got)
	case "reduce", "allreduce", "scan":
		size &^= 7
		send := ints(func(i int) int64 { return int64(me*me + i) }, size)
		upTo := p - 1
		got = make([]byte, size)
		switch st.op {
		case "reduce":
			q = c.Reduce(st.root, sumOfInts, send, got)
		case "allreduce":
			q = c.AllReduce(sumOfInts, send, got)
		case "scan":
			q = c.Scan(sumOfInts, send, got)
			upTo = me
		}
		sum := int64(0)
		for i := range upTo + 1 {
			sum += int64(i * i)
		}
		want = ints(func(i int) int64 { return sum + int64(i)*int64(upTo+1) }, size)
		if st.op == "reduce" && me != st.root {
			got, want = nil, nil
		}
	case "ring": // to the right, from the left
		got, want = make([]byte, size), fill(n, (me+p-1)%p, me, size)
		both(end, got, want, c.Recv((me+p-1)%p, int64(n), got), c.Send((me+1)%p, int64(n), fill(n, me, (me+1)%p, size)))
		return
	case "pairs": // everyone to the root, which takes them from anyone
		if me != st.root {
			both(end, nil, nil, c.Send(st.root, int64(n), fill(n, me, st.root, size)))
			return
		}
		collect(c, n, st, end)
		return
	}
	both(end, got, want, q)
}

// both ends when all requests have, and compares.
func both(end func(error), got, want []byte, qs ...*member.Request) {
	open := len(qs)
	var failed error
	for _, q := range qs {
		finish := func() {
			if _, err := q.Done(); err != nil {
				failed = err
			}
			if open--; open > 0 {
				return
			}
			if failed == nil && !bytes.Equal(got, want) {
				failed = fmt.Errorf("%w: got % x, want % x", errWrong, got[:min(len(got), 32)], want[:min(len(want), 32)])
			}
			end(failed)
		}
		if done, _ := q.Done(); done {
			finish()
		} else {
			q.OnDone = finish
		}
	}
}

var errWrong = fmt.Errorf("a wrong result")

// collect takes a message from every other member, in any order.
func collect(c *member.Comm, n int, st step, end func(error)) {
	left := c.Size() - 1
	seen := map[int]bool{}
	var next func()
	next = func() {
		if left == 0 {
			end(nil)
			return
		}
		left--
		buf := make([]byte, st.size+3)
		q := c.Recv(record.Any, int64(n), buf)
		both(func(err error) {
			src, _, size := q.Message()
			switch {
			case err == nil && (seen[src] || int(size) != st.size || !bytes.Equal(buf[:size], fill(n, src, st.root, st.size))):
				err = fmt.Errorf("%w: message from %d", errWrong, src)
				fallthrough
			case err != nil:
				end(err)
				return
			}
			seen[src] = true
			next()
		}, nil, nil, q)
	}
	next()
}

// play has every member of a communicator run a program, with at most flight
// operations under way. The outcomes are by member and step.
func play(s *sim, members []*simEnd, comm func(*simEnd) *member.Comm, program []step, flight int) [][]outcome {
	results := make([][]outcome, len(members))
	for i, e := range members {
		results[i] = make([]outcome, len(program))
		c := comm(e)
		next, open := 0, 0
		var more func()
		more = func() {
			for next < len(program) && open < flight {
				n := next
				next++
				open++
				begin(c, n, program[n], func(err error) {
					results[i][n] = outcome{true, err}
					open--
					s.do(e, more)
				})
			}
		}
		s.do(e, more)
	}
	return results
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

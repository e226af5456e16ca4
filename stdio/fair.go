package stdio

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/job"
)

const (
	// Quantum is the longest chunk, in bytes, and what a rank may send in its
	// turn.
	Quantum = 32 << 10
	// FairLimit is the usual size, in bytes, of an agent's buffer upward.
	FairLimit = 1 << 20

	rankMax     = 2 * Quantum // most that one rank may hold: one turn going, one coming
	rankMin     = 4 << 10     // a smaller share would make chunks mostly headers
	maxSpare    = 8           // used buffers kept
	segmentCost = 16          // what a change of stream costs, so that it is bounded too
)

// ErrBeyondRoom is what Fair.Push returns, wrapped, for more bytes than Room.
var ErrBeyondRoom = errors.New("more than there is room for")

// Chunk is a piece of one rank's output.
type Chunk struct {
	Rank   job.Rank
	Stream Stream
	Data   []byte
	// End says that the stream has ended; Data is then empty.
	End bool
}

// Fair is an agent's queue of its ranks' output on the way up: bounded, with
// turns of one Quantum per rank, and in order for each rank over both its
// streams. The caller reads a rank's pipe only as far as Room allows; a rank
// without room waits until Resume names it. So a line short enough for its
// rank's share waits for at most one Quantum of every other rank.
//
// Each rank may hold an equal share of the limit, but no more than two turns'
// worth. Where there are so many ranks that a share would be below 4 KiB, the
// share is 4 KiB, and ranks are let in in the order in which they asked.
type Fair struct {
	limit, share int
	used         int // bytes and costs of all queues

	queues map[job.Rank]*fairQueue
	turns  ring[*fairQueue] // queues with something to send; the first has the turn
	spent  int              // bytes the first has sent in its turn
	spare  [][]byte         // buffers of segments that were sent, to be reused

	waiting ring[*fairQueue] // asked for room while the buffer was full
}

// fairQueue is what one rank has queued.
type fairQueue struct {
	rank     job.Rank
	segments ring[segment]
	used     int
	queued   bool // is in turns
	full     bool // was refused room, and waits for its own queue to shrink
	inLine   bool // is in waiting
	granted  bool // was named by Resume, and has not pushed since
}

// segment is a run of bytes of one stream, or its end.
type segment struct {
	stream Stream
	end    bool
	data   []byte
	sent   int // bytes of data that Pop handed out
}

// NewFair returns a queue for the given number of ranks that holds at most
// limit bytes, which must be at least two quanta; FairLimit is the usual one.
func NewFair(ranks, limit int) (*Fair, error) {
	if ranks < 1 || limit < 2*Quantum {
		return nil, fmt.Errorf("output queue: %d ranks, limit of %d bytes: at least 1 rank and %d bytes are needed",
			ranks, limit, 2*Quantum)
	}
	return &Fair{
		limit:  limit,
		share:  min(max(limit/ranks, rankMin), rankMax),
		queues: make(map[job.Rank]*fairQueue, ranks),
	}, nil
}

// Room returns how many bytes of r's output may be pushed now. With 0 the
// caller leaves r's pipes alone until Resume names r.
func (f *Fair) Room(r job.Rank) int {
	q := f.queue(r)
	if q.granted || f.waiting.empty() && !q.inLine {
		if room := f.room(q); room > 0 {
			q.full = false
			return room
		}
	}
	switch {
	case q.inLine:
	case q.used+segmentCost >= f.share:
		q.full = true
	default:
		f.wait(q)
	}
	return 0
}

// wait puts q in line for Resume.
func (f *Fair) wait(q *fairQueue) {
	q.full, q.granted, q.inLine = false, false, true
	f.waiting.push(q)
}

// room is what q may take, leaving aside who asked before.
func (f *Fair) room(q *fairQueue) int {
	return max(0, min(f.share-q.used, f.limit-f.used)-segmentCost)
}

func (f *Fair) queue(r job.Rank) *fairQueue {
	q := f.queues[r]
	if q == nil {
		q = &fairQueue{rank: r}
		f.queues[r] = q
	}
	return q
}

// Resume names a rank that was refused room and has some now: the caller reads
// its pipes, as far as Room allows, before it asks for another. It returns
// false when there is none. It is to be called after every Pop until then.
func (f *Fair) Resume() (job.Rank, bool) {
	for !f.waiting.empty() && f.limit-f.used >= rankMin {
		q := *f.waiting.first()
		f.waiting.pop()
		q.inLine = false
		if f.room(q) > 0 {
			q.granted = true
			return q.rank, true
		}
		q.full = true
	}
	return 0, false
}

// Push queues a copy of a piece of r's output. More bytes than Room are
// refused with ErrBeyondRoom.
func (f *Fair) Push(r job.Rank, st Stream, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	q := f.queue(r)
	if len(data) > f.room(q) {
		return fmt.Errorf("output queue: rank %d: %d bytes: %w", r, len(data), ErrBeyondRoom)
	}
	q.granted = false
	cost := len(data)
	if s := q.segments.final(); s != nil && s.stream == st && !s.end {
		if s.sent > len(s.data)/2 {
			s.data, s.sent = append(s.data[:0], s.data[s.sent:]...), 0
		}
		s.data = append(s.data, data...)
	} else {
		q.segments.push(segment{stream: st, data: append(f.buffer(), data...)})
		cost += segmentCost
	}
	q.used += cost
	f.used += cost
	f.enqueue(q)
	return nil
}

// buffer returns an empty buffer, a used one if there is any.
func (f *Fair) buffer() []byte {
	n := len(f.spare)
	if n == 0 {
		return nil
	}
	b := f.spare[n-1]
	f.spare = f.spare[:n-1]
	return b[:0]
}

// End queues the end of r's stream behind what was pushed. There is always
// room for it; each stream ends once.
func (f *Fair) End(r job.Rank, st Stream) {
	q := f.queue(r)
	q.segments.push(segment{stream: st, end: true})
	f.enqueue(q)
}

func (f *Fair) enqueue(q *fairQueue) {
	if !q.queued {
		q.queued = true
		f.turns.push(q)
	}
}

// Pop takes the next chunk of at most Quantum bytes, and returns false if
// nothing is queued. Its Data is valid until the next call of Push or Pop.
func (f *Fair) Pop() (Chunk, bool) {
	if f.turns.empty() {
		return Chunk{}, false
	}
	q := *f.turns.first()
	s := q.segments.first()
	c := Chunk{Rank: q.rank, Stream: s.stream, End: s.end}
	n := min(len(s.data)-s.sent, Quantum-f.spent)
	c.Data = s.data[s.sent : s.sent+n : s.sent+n]
	s.sent += n
	cost := n
	if s.sent == len(s.data) {
		if !c.End {
			cost += segmentCost
			if len(f.spare) < maxSpare {
				f.spare = append(f.spare, s.data)
			}
		}
		q.segments.pop()
	}
	q.used -= cost
	f.used -= cost
	f.spent += n
	if q.segments.empty() || f.spent >= Quantum {
		f.passTurn(q)
	}
	if q.full && q.used <= f.share/2 {
		f.wait(q)
	}
	return c, true
}

// passTurn ends q's turn.
func (f *Fair) passTurn(q *fairQueue) {
	f.spent = 0
	f.turns.pop()
	if q.segments.empty() {
		q.queued = false
		return
	}
	f.turns.push(q)
}

// Len returns how much of the limit is in use, in bytes.
func (f *Fair) Len() int { return f.used }

package output

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

const (
	bound = 1 << 20  // bytes of output an agent holds on their way up
	frame = 64 << 10 // bytes of output in one message at most
)

// queue holds a job's messages to the parent, in order: output records, and the word that
// a world has no more.
type queue struct {
	job    job.Number
	pieces []piece
	bytes  int // of records
}

type piece struct {
	records []byte
	drained bool
	world   int
}

func (q *queue) full() bool { return q.bytes >= bound }

func (q *queue) put(records []byte) {
	q.pieces = append(q.pieces, piece{records: records})
	q.bytes += len(records)
}

func (q *queue) putDrained(world int) {
	q.pieces = append(q.pieces, piece{drained: true, world: world})
}

// take empties the queue.
func (q *queue) take() queue {
	all := *q
	*q = queue{job: all.job}
	return all
}

// next is the next message: records that follow each other share one.
func (q *queue) next() (h tree.Header, body []byte) {
	first := q.pieces[0]
	q.pieces = q.pieces[1:]
	h = tree.Header{Kind: overlay.KindOutput, Job: q.job, To: tree.Launcher, From: tree.Launcher}
	if first.drained {
		h.Kind, h.World = overlay.KindDrained, uint16(first.world)
		return h, nil
	}
	body = first.records
	for len(q.pieces) > 0 && !q.pieces[0].drained && len(body)+len(q.pieces[0].records) <= frame {
		body = append(body, q.pieces[0].records...)
		q.pieces = q.pieces[1:]
	}
	return h, body
}

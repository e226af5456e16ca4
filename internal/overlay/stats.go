package overlay

import (
	"sync/atomic"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/tree"
)

var _ [report.NumStreams]struct{} = [link.NumStreams]struct{}{}

// traffic counts an edge's messages and bytes, headers of frames included.
type traffic struct {
	messages [2][link.NumStreams]atomic.Uint64 // sent, received
	bytes    [2][link.NumStreams]atomic.Uint64
}

func (t *traffic) sent(s link.Stream, frame []byte)     { t.count(0, s, frame) }
func (t *traffic) received(s link.Stream, frame []byte) { t.count(1, s, frame) }

// count counts a message with its last frame.
func (t *traffic) count(way int, s link.Stream, frame []byte) {
	t.bytes[way][s].Add(uint64(len(frame)))
	if !tree.MoreFollow(frame) {
		t.messages[way][s].Add(1)
	}
}

// Traffic counts messages, and bytes of frames, sent and received on stream s so far.
func (e *Edge) Traffic(s link.Stream) (sent, received report.Count) {
	of := func(way int) report.Count {
		return report.Count{Messages: e.traffic.messages[way][s].Load(), Bytes: e.traffic.bytes[way][s].Load()}
	}
	return of(0), of(1)
}

// Traffic adds up the messages to and from every child that ever was.
func (f *Subtree) Traffic(s link.Stream) (sent, received report.Count) {
	for i := range f.children {
		down, up := f.children[i].edge.Traffic(s)
		sent.Add(down)
		received.Add(up)
	}
	return sent, received
}

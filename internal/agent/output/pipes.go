package output

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
)

const quantum = 16 << 10 // bytes taken from one pipe at a time, in turn

// source is one pipe of a rank.
type source struct {
	rank    job.RankID
	stream  stdio.Stream
	fd      int
	tag     uint64
	midline bool // the last byte was not a newline
}

// read ends when Close says so.
func (o *Output) read() {
	ready := make([]unix.Ready, 64)
	buf := make([]byte, quantum)
	var records []byte
	for {
		n, err := o.poller.Park(ready)
		o.mu.Lock()
		closing, cut := o.closing, o.cut
		o.cut = nil
		o.mu.Unlock()
		if err != nil || closing {
			return
		}
		o.cutOff(cut, buf)
		for _, r := range ready[:n] {
			records, _ = o.take(r.Tag, buf, records)
			if len(records) >= frame-quantum {
				o.enqueue(records)
				records = nil
			}
		}
		o.enqueue(records)
		records = nil
		o.settle()
	}
}

// cutOff reads out and closes pipes: what is in them by now, however much a
// process outside the job goes on to write.
func (o *Output) cutOff(tags []uint64, buf []byte) {
	for _, tag := range tags {
		src, open := o.source(tag)
		if !open {
			continue
		}
		left, err := unix.UnreadAtMost(src.fd)
		for err == nil && left > 0 {
			records, n := o.take(tag, buf[:min(left, len(buf))], nil)
			o.enqueue(records) // of the end, too: a terminal may have less than it might
			if n <= 0 {
				break
			}
			left -= n
		}
		if src, open = o.source(tag); open { // take knows how its last line stands
			o.enqueue(o.shut(src, nil))
		}
	}
}

func (o *Output) source(tag uint64) (src source, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	src, open = o.pipes[tag]
	return src, open
}

// take reads once from a pipe and appends what came to records; n is how many bytes.
func (o *Output) take(tag uint64, buf, records []byte) (all []byte, n int) {
	o.mu.Lock()
	src, open := o.pipes[tag]
	at := o.now()
	o.mu.Unlock()
	if !open {
		return records, 0
	}
	n, err := unix.Read(src.fd, buf)
	if err == unix.EAGAIN {
		return records, 0
	}
	if n > 0 {
		midline := buf[n-1] != '\n'
		if midline != src.midline {
			src.midline = midline
			o.mu.Lock()
			o.pipes[tag] = src
			o.mu.Unlock()
		}
		return overlay.Chunk{Rank: src.rank, Stream: src.stream, At: at, Data: buf[:n]}.AppendTo(records), n
	}
	return o.shut(src, records), 0 // end of file; an error means the same: a terminal that nobody has open has EIO
}

// shut closes a pipe. Only an unfinished line needs the launcher's attention.
func (o *Output) shut(src source, records []byte) []byte {
	if src.midline {
		records = overlay.AppendChunk(records, src.rank, src.stream, nil)
	}
	o.poller.Remove(src.fd)
	unix.Close(src.fd)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pipes, src.tag)
	o.owed.pipe(src.rank.World, -1)
	return records
}

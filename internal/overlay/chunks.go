package overlay

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/stdio"
)

// Chunk is a piece of a rank's output on one of its streams, as its agent has read it at once.
type Chunk struct {
	Rank   job.RankID
	Stream stdio.Stream
	// At is the time of the agent's read, by its clock, to the microsecond; zero unless
	// LaunchOptions.Timed.
	At time.Time
	// Data are the bytes. A chunk without says that the stream has ended in the middle of a
	// line.
	Data []byte
}

const (
	timedChunk = 0x80           // the bit of a stream's byte that says that a time follows
	lastMicro  = 253402300799e6 // the end of the year 9999, in microseconds of Unix time
)

// AppendChunk appends one output chunk without a time to b: world and rank (uvarints), the
// stream (one byte), the length (uvarint), the bytes.
func AppendChunk(b []byte, rank job.RankID, s stdio.Stream, data []byte) []byte {
	return Chunk{Rank: rank, Stream: s, Data: data}.AppendTo(b)
}

// AppendTo appends the chunk to b, as AppendChunk does. One with a time has timedChunk set in
// the byte of its stream, and the time, in microseconds of Unix time (uvarint), after it.
func (c Chunk) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(c.Rank.World))
	b = binary.AppendUvarint(b, uint64(c.Rank.Rank))
	if c.At.IsZero() {
		b = append(b, byte(c.Stream))
	} else {
		b = append(b, byte(c.Stream)|timedChunk)
		b = binary.AppendUvarint(b, uint64(min(max(c.At.UnixMicro(), 0), lastMicro)))
	}
	b = binary.AppendUvarint(b, uint64(len(c.Data)))
	return append(b, c.Data...)
}

// Chunks calls yield with each output chunk of body; its data aliases body.
func Chunks(body []byte, yield func(Chunk)) error {
	for len(body) > 0 {
		world, skip := binary.Uvarint(body)
		if skip <= 0 || world >= MaxWorlds {
			return errors.New("output chunk is malformed")
		}
		body = body[skip:]
		rank, n := binary.Uvarint(body)
		if n <= 0 || rank > 1<<31 || len(body) == n {
			return errors.New("output chunk is malformed")
		}
		c := Chunk{Rank: job.RankID{World: int(world), Rank: job.Rank(rank)}, Stream: stdio.Stream(body[n] &^ timedChunk)}
		timed := body[n]&timedChunk != 0
		body = body[n+1:]
		if timed {
			micro, n := binary.Uvarint(body)
			if n <= 0 || micro > lastMicro {
				return errors.New("output chunk has a malformed time")
			}
			c.At, body = time.UnixMicro(int64(micro)), body[n:]
		}
		size, n := binary.Uvarint(body)
		if n <= 0 || size > uint64(len(body)-n) {
			return errors.New("output chunk is truncated")
		}
		c.Data, body = body[n:n+int(size)], body[n+int(size):]
		yield(c)
	}
	return nil
}

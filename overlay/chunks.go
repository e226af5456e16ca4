package overlay

import (
	"encoding/binary"
	"errors"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/stdio"
)

// AppendChunk appends one output chunk to b: world and rank (uvarints), the
// stream (one byte), the length (uvarint), the bytes. A chunk without bytes
// says that the stream has ended in the middle of a line.
func AppendChunk(b []byte, rank job.RankID, s stdio.Stream, data []byte) []byte {
	b = binary.AppendUvarint(b, uint64(rank.World))
	b = binary.AppendUvarint(b, uint64(rank.Rank))
	b = append(b, byte(s))
	b = binary.AppendUvarint(b, uint64(len(data)))
	return append(b, data...)
}

// Chunks calls yield with each output chunk of body; data aliases body.
func Chunks(body []byte, yield func(rank job.RankID, s stdio.Stream, data []byte)) error {
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
		s := stdio.Stream(body[n])
		body = body[n+1:]
		size, n := binary.Uvarint(body)
		if n <= 0 || size > uint64(len(body)-n) {
			return errors.New("output chunk is truncated")
		}
		yield(job.RankID{World: int(world), Rank: job.Rank(rank)}, s, body[n:n+int(size)])
		body = body[n+int(size):]
	}
	return nil
}

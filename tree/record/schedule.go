package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ScheduledMessage is a message of a schedule, as one of the two ranks that have part
// in it is told of it.
type ScheduledMessage struct {
	Stage    int  // from 0
	Peer     int  // the other rank of the world
	Received bool // from the peer, not sent to it
	Bytes    int64
}

// AppendScheduled appends a message to a rank's part of a schedule, in which the last
// message before it is of stage last: how many stages later it is, twice the peer's
// rank, plus 1 where it is received, and its bytes, as unsigned varints.
func AppendScheduled(b []byte, last int, m ScheduledMessage) []byte {
	b = binary.AppendUvarint(b, uint64(m.Stage-last))
	peer := uint64(m.Peer) << 1
	if m.Received {
		peer |= 1
	}
	b = binary.AppendUvarint(b, peer)
	return binary.AppendUvarint(b, uint64(m.Bytes))
}

// ParseScheduled reads a rank's part of a schedule of so many stages and ranks.
func ParseScheduled(b []byte, stages int64, ranks int) (list []ScheduledMessage, err error) {
	if stages < 0 || stages > MaxStages {
		return nil, fmt.Errorf("a schedule of %d stages", stages)
	}
	var stage uint64
	for len(b) > 0 {
		var v [3]uint64
		for i := range v {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, errShort
			}
			v[i], b = x, b[n:]
		}
		if v[0] >= uint64(stages)-stage || v[1]>>1 >= uint64(ranks) || v[2] > math.MaxInt64 {
			return nil, errors.New("a schedule has a message of a stage or to a rank that it lacks")
		}
		stage += v[0]
		list = append(list, ScheduledMessage{Stage: int(stage), Peer: int(v[1] >> 1), Received: v[1]&1 != 0, Bytes: int64(v[2])})
	}
	return list, nil
}

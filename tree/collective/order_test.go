package collective_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// TestSumsOfFloats has contributions arrive in many orders: the sum, of which every
// addition rounds, has the same bits in all of them, at every rank.
func TestSumsOfFloats(t *testing.T) {
	for _, elements := range []int{1, 3 * record.Chunk / 8} {
		var want []byte
		for seed := range uint64(12) {
			s := newSim(seeded(seed), 7, 2, blocks(7, 3))
			got := make([][]byte, s.ranks)
			var requests []*member.Request
			for rank, e := range s.ends[:s.ranks] {
				send := make([]byte, 0, 8*elements)
				for i := range elements {
					send = binary.LittleEndian.AppendUint64(send, math.Float64bits(math.Pow(-7, float64((rank*5+i)%23))/3))
				}
				got[rank] = make([]byte, len(send))
				s.do(e, func() { requests = append(requests, e.World().AllReduce(record.Float64|record.Sum, send, got[rank])) })
			}
			s.run()
			require.Empty(t, s.faults)
			for _, q := range requests {
				done, err := q.Done()
				require.NoError(t, err)
				require.True(t, done)
			}
			if want == nil {
				want = got[0]
			}
			for _, b := range got {
				require.True(t, bytes.Equal(want, b), "seed %d", seed)
			}
			for _, n := range s.nodes {
				require.True(t, n.Forgotten())
			}
		}
	}
}

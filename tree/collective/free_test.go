package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFreeWaitsForWhatIsUnderWay has all members begin something long, then free
// the communicator at once: all of it comes to a good end.
func TestFreeWaitsForWhatIsUnderWay(t *testing.T) {
	for _, op := range allOps {
		t.Run(op, func(t *testing.T) {
			for seed := range uint64(4) {
				s := newSim(seeded(seed), 5, 2, blocks(5, 2))
				members, comm := s.subset(t)
				program := []step{{op, 0, 100_000}, {op, len(members) - 1, 3000}}
				results := make([][]outcome, len(members))
				freed := 0
				for i, e := range members {
					results[i] = make([]outcome, len(program))
					s.do(e, func() {
						c := comm(e)
						for n, st := range program {
							begin(c, n, st, func(err error) { results[i][n] = outcome{true, err} })
						}
						both(func(err error) {
							require.NoError(t, err)
							for n, x := range results[i] {
								require.True(t, x.done, "member %d: step %d", i, n)
							}
							freed++
						}, nil, nil, c.Free())
						_, err := c.Free().Done()
						require.ErrorContains(t, err, "freed", "a second time")
					})
				}
				s.run()
				s.check(t, results, program)
				require.Equal(t, len(members), freed)
				require.Equal(t, 2*len(s.nodes), s.communicators())
			}
		})
	}
}

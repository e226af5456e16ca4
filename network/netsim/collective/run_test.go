package collective

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func add(into, with []byte) {
	for i, b := range with {
		into[i] += b
	}
}

// The definitions of the operations: the result of a rank, from inputs of the
// operation's lengths.
func TestAlgorithmsGiveWhatTheOperationSays(t *testing.T) {
	for _, a := range Algorithms() {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkData(t, a, drawJob(t, a.Needs)) })
		})
	}
	for k := 2; k <= 9; k++ {
		for _, o := range trees {
			a := nomial(o, k)
			t.Run(a.Name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { checkData(t, a, drawJob(t, Any)) })
			})
		}
	}
}

func checkData(t *rapid.T, a Algorithm, j Job) {
	p, err := a.Program(j)
	require.NoError(t, err)
	part := func(i int) (from, to int) {
		size := j.Bytes
		if !a.Operation.perRank() {
			size = (j.Bytes + int64(j.Ranks) - 1) / int64(j.Ranks)
		}
		return int(min(int64(i)*size, p.Bytes)), int(min(int64(i+1)*size, p.Bytes))
	}
	input := make([][]byte, j.Ranks)
	whole := make([]byte, p.Bytes) // the vector of all parts, the root's vector, or the reduction
	seed := rapid.Byte().Draw(t, "seed")
	for i := range input {
		size := int(p.Bytes)
		from, to := part(i)
		if a.Operation == Allgather || a.Operation == Gather {
			size = to - from
		}
		input[i] = make([]byte, size)
		for b := range input[i] {
			seed = seed*181 + byte(i) + 73
			input[i][b] = seed ^ seed>>3
		}
		switch {
		case a.Operation == ReduceScatter || a.Operation == Reduce || a.Operation == Allreduce:
			add(whole, input[i])
		case a.Operation == Allgather || a.Operation == Gather:
			copy(whole[from:to], input[i])
		case i == int(j.Root):
			copy(whole, input[i])
		}
	}
	got, err := Run(p, input, add)
	require.NoError(t, err)
	for i := range got {
		from, to := 0, len(whole)
		switch a.Operation {
		case ReduceScatter, Scatter:
			from, to = part(i)
		case Gather, Reduce:
			if i != int(j.Root) {
				continue
			}
		}
		require.Equal(t, whole[from:to], got[i][from:to], "rank %d", i)
	}
}

// A rank of an allgather gets each byte of the others once, but for those of the
// stages that restore the order.
func TestNoByteIsSentTwice(t *testing.T) {
	for _, a := range Algorithms() {
		if a.Operation != Allgather {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				j := drawJob(t, a.Needs)
				p, err := a.Program(j)
				require.NoError(t, err)
				var sum, redundant int64
				for _, s := range p.Stages {
					for r := range s.repeats() {
						for _, m := range s.step(nil, r) {
							require.NotEqual(t, m.From, m.To)
							require.Positive(t, m.Size)
							if s.Restores {
								redundant += m.Size
							} else {
								sum += m.Size
							}
						}
					}
				}
				require.Equal(t, p.Bytes*int64(j.Ranks-1), sum)
				require.LessOrEqual(t, redundant, 2*p.Bytes, "at most twice the input")
			})
		})
	}
}

func TestRunChecksInputs(t *testing.T) {
	p := must(t, "allgather/ring", Job{Ranks: 2, Bytes: 3})
	_, err := Run(p, make([][]byte, 3), add)
	require.EqualError(t, err, "allgather/ring: 3 inputs for 2 ranks")
	_, err = Run(p, [][]byte{{1, 2, 3}, {1, 2}}, add)
	require.EqualError(t, err, "allgather/ring: rank 1 gives 2 bytes instead of 3")
}

package collective

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, a := range Algorithms() {
		assert.False(t, names[a.Name], "%s twice", a.Name)
		names[a.Name] = true
		assert.NotEmpty(t, a.Help)
		found, err := Find(a.Name)
		require.NoError(t, err)
		assert.Equal(t, a.Operation, found.Operation)
	}
	_, err := Find("scatter/ring")
	require.EqualError(t, err, `algorithm "scatter/ring" is none of scatter/2-nomial, scatter/4-nomial`)
	_, err = Find("ring")
	require.EqualError(t, err, `algorithm "ring" begins with none of allgather, reduce-scatter, broadcast, reduce, allreduce, scatter, gather`)
}

func TestWhatIsWrongWithAJob(t *testing.T) {
	for _, c := range []struct {
		name, err string
		job       Job
	}{
		{"allgather/ring", "0 ranks: expected 1..2097152", Job{}},
		{"allgather/ring", "-1 bytes: expected 0..1152921504606846976", Job{Ranks: 1, Bytes: -1}},
		{"allgather/ring", "9223372036854775807 bytes: expected 0..72057594037927936", Job{Ranks: 4, Bytes: 1<<63 - 1}},
		{"broadcast/ring", "root 4: expected 0..3", Job{Ranks: 4, Root: 4}},
		{"allgather/bucket", "it needs the sizes of a torus or mesh", Job{Ranks: 4}},
		{"allgather/bucket", "dimension 0: expected 1..2097152", Job{Ranks: 4, Dims: []int{4, 0}}},
		{"allgather/bucket", "sizes [2 3] have 6 places for 4 ranks: expected as many", Job{Ranks: 4, Dims: []int{2, 3}}},
		{"allgather/bucket", "it needs a rank on each index: expected no members", Job{Ranks: 2, Dims: []int{2}, Members: []int32{1, 0}}},
		{"allgather/torus", "more than 8388608 cables: too large", Job{Ranks: 1594323, Dims: []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}}},
		{"allreduce/mesh", "sizes [6 6]: expected two equal powers of two", Job{Ranks: 36, Dims: []int{6, 6}}},
		{"allgather/path", "1 members for 2 ranks: expected as many", Job{Ranks: 2, Dims: []int{4}, Members: []int32{1}}},
		{"allgather/path", "ranks 0 and 1 are both on index 1", Job{Ranks: 2, Dims: []int{4}, Members: []int32{1, 1}}},
		{"allgather/path", "rank 1 is on index 4: expected 0..3", Job{Ranks: 2, Dims: []int{4}, Members: []int32{1, 4}}},
	} {
		a, err := Find(c.name)
		require.NoError(t, err)
		_, err = a.Program(c.job)
		assert.ErrorContains(t, err, c.name+": ")
		assert.ErrorContains(t, err, c.err)
	}
}

// The path visits every index once, each beside the one before.
func TestBoustrophedon(t *testing.T) {
	dims := []int{3, 4, 5}
	for start := range dims {
		at := make([]int, product(dims))
		for x := range at {
			at[boustrophedon(dims, rotated(3, start), x)] = x
		}
		seen := map[int]bool{at[0]: true}
		for p := 1; p < len(at); p++ {
			far := 0
			a, b := at[p-1], at[p]
			for _, n := range dims {
				far += max(a%n-b%n, b%n-a%n)
				a, b = a/n, b/n
			}
			assert.Equal(t, 1, far, "start %d, place %d", start, p)
			seen[at[p]] = true
		}
		assert.Len(t, seen, len(at))
	}
	assert.Equal(t, []int32{2, 0, 1}, along([]int{3, 3}, 0, []int32{6, 1, 5}), "members 1, 5, 6 in the order of the path")
}

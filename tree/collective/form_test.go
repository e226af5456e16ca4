package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
)

// TestForgedClasses has the children of a root without ranks, one with rank 0 and one with ranks 1
// and 2, say what cannot be of the members of one colour: the split fails, or the child is accused.
func TestForgedClasses(t *testing.T) {
	const first, second = 1<<32 | 1, 2<<32 | 1 // communicators of ranks 0 and 1
	for name, x := range map[string]struct {
		one, two []uint64 // colour, size, communicator, nodes; of each row, rank and endpoint, twice, and length
		want     string
	}{
		"as it should be":             {[]uint64{7, 3, first, 1, 1, 0, 0, 1}, []uint64{7, 3, 0, 1, 1, 2, 2, 2}, "[]"},
		"members that nobody has":     {[]uint64{7, 3, first, 1, 1, 0, 0, 1}, nil, "colour 7: 1 of 3 members"},
		"no first member":             {[]uint64{7, 3, 0, 1, 1, 0, 0, 1}, []uint64{7, 3, 0, 1, 1, 2, 2, 2}, "colour 7: 3 of 3 members"},
		"two first members":           {[]uint64{7, 3, first, 1, 1, 0, 0, 1}, []uint64{7, 3, second, 1, 1, 2, 2, 2}, "[{1 0 a class of colour 7"},
		"a rank twice, another none":  {[]uint64{7, 3, first, 1, 1, 0, 0, 1}, []uint64{7, 3, 0, 1, 1, 0, 2, 2}, "member 0 twice, or 1 not at all"},
		"more members than there are": {[]uint64{7, 2, first, 1, 1, 0, 0, 1}, []uint64{7, 2, 0, 1, 1, 0, 2, 2}, "[{1 0 a class of colour 7, of 2 members, 2 of them"},
		"members on no node":          {[]uint64{7, 3, first, 0, 1, 0, 0, 1}, nil, "[{0 0 a class of colour 7, of 3 members, 1 of them on 0 nodes"},
		"one member on two nodes":     {[]uint64{7, 3, first, 2, 1, 0, 0, 1}, nil, "[{0 0 a class of colour 7, of 3 members, 1 of them on 2 nodes"},
		"another size":                {[]uint64{7, 3, first, 1, 1, 0, 0, 1}, []uint64{7, 2, 0, 1, 1, 0, 2, 2}, "[{1 0 a class of colour 7, of 2 members"},
		"others' members":             {[]uint64{7, 3, first, 1, 1, 0, 2, 1}, nil, "[{0 0 a class of colour 7 with rank 1, which is elsewhere"},
	} {
		n, err := collective.New(collective.Config{Ranks: 3, Node: func(rank int) int { return (rank + 3) / 2 }, Children: 2, Root: true,
			Directions: collective.Runs(0, 1, 1, collective.Local, 0, 1)})
		require.NoError(t, err)
		n.Receive(0, splitPiece(1, 0, class(x.one...)))
		n.Receive(1, splitPiece(1, 0, class(x.two...)))
		require.Contains(t, failure(n), x.want, name)
	}
}

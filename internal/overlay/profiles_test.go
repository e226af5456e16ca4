package overlay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/tree"
)

// A child tells what ranks have counted that are on the host that it says, and names
// ranks of the world alone.
func TestProfilesOfAChild(t *testing.T) {
	for name, x := range map[string]struct {
		from  job.HostIndex
		world int
		part  profile.Part
		want  string // of the error; "" for none
	}{
		"counters":                {2, 0, profile.Part{Rank: 4, State: profile.Finished, Sent: []int64{9, 1, 2, 0}}, ""},
		"of another host's rank":  {3, 0, profile.Part{Rank: 4}, "rank 4 is not on n3"},
		"of others":               {0, 0, profile.Part{Rank: 0}, "n0 is not below it"},
		"of a rank that is not":   {2, 0, profile.Part{Rank: 10}, "rank 10 is not on n2"},
		"of a world that is over": {2, 3, profile.Part{Rank: 7, Got: []int64{800, 1, 1, 1}}, ""},
		"sent to no rank":         {2, 0, profile.Part{Rank: 4, Sent: []int64{10, 1, 2, 0}}, "name rank 10 of 10"},
		"cut off":                 {2, 0, profile.Part{Rank: 4, Sent: []int64{1, 1, 2}}, "cut off"},
		"negative":                {2, 0, profile.Part{Rank: 4, Outside: []int64{1, -1, 2}}, "is -1"},
		"no operation":            {2, 0, profile.Part{Rank: 4, Of: []uint64{1}, Calls: []int64{0, 99, 0, 0, 1, 1, 1}}, "operation 99"},
		"no communicator":         {2, 0, profile.Part{Rank: 4, Members: []int64{0, 0, 1, 0}}, "number 0 of 1"},
		"too many":                {2, 0, profile.Part{Rank: 4, Sent: make([]int64, 4*profile.MaxPart+4)}, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := middleChild(false).read(tree.Header{Kind: KindProfile, World: uint16(x.world), From: x.from}, Encode(x.part))
			if x.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, x.want)
		})
	}
}

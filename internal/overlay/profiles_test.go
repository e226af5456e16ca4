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
		"counters":                {from: 2, part: profile.Part{Rank: 4, State: profile.Finished, Sent: []int64{9, 1, 2, 0}}},
		"of another host's rank":  {from: 3, part: profile.Part{Rank: 4}, want: "rank 4 is not on n3"},
		"of others":               {part: profile.Part{Rank: 0}, want: "n0 is not below it"},
		"of a rank that is not":   {from: 2, part: profile.Part{Rank: 10}, want: "rank 10 is not on n2"},
		"of a world that is over": {from: 2, world: 3, part: profile.Part{Rank: 7, Got: []int64{800, 1, 1, 1}}},
		"sent to no rank":         {from: 2, part: profile.Part{Rank: 4, Sent: []int64{10, 1, 2, 0}}, want: "name rank 10 of 10"},
		"cut off":                 {from: 2, part: profile.Part{Rank: 4, Sent: []int64{1, 1, 2}}, want: "cut off"},
		"negative":                {from: 2, part: profile.Part{Rank: 4, Outside: []int64{1, -1, 2}}, want: "is -1"},
		"no operation":            {from: 2, part: profile.Part{Rank: 4, Of: []uint64{1}, Calls: []int64{0, 99, 0, 0, 1, 1, 1}}, want: "operation 99"},
		"no communicator":         {from: 2, part: profile.Part{Rank: 4, Members: []int64{0, 0, 1, 0}}, want: "number 0 of 1"},
		"too many":                {from: 2, part: profile.Part{Rank: 4, Sent: make([]int64, 4*profile.MaxPart+4)}, want: "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := middleChild(false).read(tree.Header{Kind: KindProfile, Job: job.Cold, World: uint16(x.world), From: x.from}, Encode(x.part))
			if x.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, x.want)
		})
	}
}

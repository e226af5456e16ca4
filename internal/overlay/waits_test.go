package overlay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWaitsMerge(t *testing.T) {
	id := WaitID{Comm: 3, Seq: 4}
	w := Waits{Waits: []Wait{{ID: id, Missing: AppendWaitRuns(nil, []int{7, 8, 10})}}, Living: 2, Messages: 1, Examples: []string{"a", "b"}}
	w.Merge(Waits{Waits: []Wait{{ID: id, Text: "barrier", Missing: AppendWaitRuns(nil, []int{1})}, {ID: WaitID{Fence: true}}}, Living: 3,
		Messages: 2, Examples: []string{"c", "d"}})
	require.Equal(t, Waits{
		Waits:  []Wait{{ID: id, Text: "barrier", Missing: []WaitRun{{First: 7, Count: 2}, {First: 10, Count: 1}, {First: 1, Count: 1}}}, {ID: WaitID{Fence: true}}},
		Living: 5, Messages: 3, Examples: []string{"a", "b", "c"},
	}, w)
	w.Merge(Waits{Waits: []Wait{{ID: InitOf(0), Begun: AppendWaitRuns(nil, []int{4})}}})
	w.Merge(Waits{Waits: []Wait{{ID: InitOf(0), Begun: AppendWaitRuns(nil, []int{6}), Ended: AppendWaitRuns(nil, []int{5})}}})
	require.Equal(t, Wait{ID: InitOf(0), Begun: []WaitRun{{First: 4, Count: 1}, {First: 6, Count: 1}}, Ended: []WaitRun{{First: 5, Count: 1}}}, w.Waits[2])
	for seq := range uint64(MostWaits) {
		w.Merge(Waits{Waits: []Wait{{ID: WaitID{Comm: 9, Seq: seq}}}})
	}
	require.Len(t, w.Waits, MostWaits)
	got, err := Decode[Waits](Encode(w))
	require.NoError(t, err)
	require.Equal(t, w, got)
}

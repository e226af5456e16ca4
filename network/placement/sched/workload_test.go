package sched

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Draws follow the workload and the seed alone.
func TestDraw(t *testing.T) {
	w := &Workload{Jobs: 20000, Hosts: []int{2, 2, 8}, Gap: 30, Shortest: 10, Longest: 20}
	jobs, err := w.Draw(7)
	require.NoError(t, err)
	again, err := w.Draw(7)
	require.NoError(t, err)
	require.Equal(t, jobs, again)
	other, err := w.Draw(8)
	require.NoError(t, err)
	require.NotEqual(t, jobs, other)

	large, runtime := 0, 0.0
	for i, j := range jobs {
		require.True(t, i == 0 || j.Arrive >= jobs[i-1].Arrive)
		require.True(t, j.Runtime >= 10 && j.Runtime <= 20)
		runtime += j.Runtime
		if j.Hosts == 8 {
			large++
		}
	}
	n := float64(len(jobs))
	assert.InEpsilon(t, 30, jobs[len(jobs)-1].Arrive/n, 0.05, "the mean gap")
	assert.InEpsilon(t, 15, runtime/n, 0.05)
	assert.InEpsilon(t, 1./3, float64(large)/n, 0.05)
	late := slices.IndexFunc(jobs, func(j Job) bool { return j.Arrive > 30*n/2 })
	assert.InEpsilon(t, 0.5, float64(late)/n, 0.05)
}

func TestDrawRefuses(t *testing.T) {
	for want, w := range map[string]Workload{
		"no job sizes":                      {Jobs: 1},
		"gap of -1 s: expected 0 or more":   {Jobs: 1, Hosts: []int{1}, Gap: -1, Shortest: 1, Longest: 1},
		"gap of +Inf s: expected 0 or more": {Jobs: 1, Hosts: []int{1}, Gap: math.Inf(1), Shortest: 1, Longest: 1},
		"runtimes of 0 to 1 s: expected more than 0, and the shortest first": {Jobs: 1, Hosts: []int{1}, Longest: 1},
		"runtimes of 2 to 1 s: expected more than 0, and the shortest first": {Jobs: 1, Hosts: []int{1}, Shortest: 2, Longest: 1},
	} {
		_, err := w.Draw(1)
		assert.EqualError(t, err, want)
	}
}

// Job 1 waits 2 s for job 0, and takes longer as its hosts share a link.
func TestJudge(t *testing.T) {
	jobs := []Job{{0, 1, 3}, {1, 2, 4}}
	started, err := (&Cluster{Link: []int32{0, 0}, Slowdown: 0.5, Select: FirstFit}).Run(jobs)
	require.NoError(t, err)
	assert.Equal(t, Outcome{Makespan: 9, Wait: 1, Turnaround: 5.5, Slowed: 0.5, Pairs: 0.5}, Judge(jobs, started))
	assert.Equal(t, Outcome{}, Judge(nil, nil))
}

// Of the ways on the source's cluster none chooses hosts that are taken, and each has
// a name of its own.
func TestWays(t *testing.T) {
	names := map[string]bool{}
	for _, w := range Ways() {
		require.False(t, names[w.Name])
		names[w.Name] = true
		require.Equal(t, []int{1, 3}, w.Select([]bool{false, true, false, true}, []int32{0, 0, 1, 1}, 2), w.Name)
	}
}

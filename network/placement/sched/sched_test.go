package sched

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Hosts 0 and 2, 1 and 3 share links; job 1 waits, job 2 runs meanwhile as it is short,
// job 3 would delay job 1.
func TestBackfillDelaysNobody(t *testing.T) {
	c := &Cluster{Link: []int32{0, 1, 0, 1}, Slowdown: 0.5, Select: FirstFit}
	out, err := c.Run([]Job{{0, 3, 10}, {1, 4, 10}, {2, 1, 4}, {3, 1, 20}})
	require.NoError(t, err)
	assert.Equal(t, []Started{
		{End: 15, Hosts: []int{0, 1, 2}, Pairs: 1},
		{Start: 15, End: 30, Hosts: []int{0, 1, 2, 3}, Pairs: 2},
		{Start: 2, End: 6, Hosts: []int{3}},
		{Start: 30, End: 50, Hosts: []int{0}},
	}, out)
}

// Where job 1 ends, two hosts are idle, of which one is left over when job 2 starts: job
// 3 may have it, job 4 has to wait.
func TestBackfillCountsWhatIsLeftOver(t *testing.T) {
	c := &Cluster{Link: []int32{0, 1, 2, 3, 4}, Select: FirstFit}
	out, err := c.Run([]Job{{0, 3, 10}, {0, 2, 5}, {1, 4, 10}, {2, 1, 20}, {3, 1, 20}})
	require.NoError(t, err)
	var starts []float64
	for _, s := range out {
		starts = append(starts, s.Start)
	}
	assert.Equal(t, []float64{0, 0, 10, 5, 20}, starts)
}

func TestAvoidRelaxes(t *testing.T) {
	link := []int32{0, 1, 0, 1, 2, 0}
	free := []bool{true, true, true, true, true, true}
	assert.Equal(t, []int{0, 1, 4}, Avoid(free, link, 3))
	assert.Equal(t, []int{0, 1, 4, 2, 3}, Avoid(free, link, 5))
	assert.Equal(t, []int{0, 1, 2}, FirstFit(free, link, 3))
	assert.Equal(t, 4, Pairs(link, []int{0, 1, 2, 3, 4, 5}))
}

// Hosts are given to one job at a time, jobs take what they should, no job waits while
// nothing runs, and to avoid pairs brings the fewest that the free hosts allow.
func TestRunIsPossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		link := rapid.SliceOfN(rapid.Int32Range(0, 5), 1, 12).Draw(t, "link")
		job := rapid.Custom(func(t *rapid.T) Job {
			return Job{float64(rapid.IntRange(0, 30).Draw(t, "arrive")), rapid.IntRange(1, len(link)).Draw(t, "hosts"),
				float64(rapid.IntRange(1, 9).Draw(t, "runtime"))}
		})
		jobs := rapid.SliceOfN(job, 0, 12).Draw(t, "jobs")
		c := &Cluster{Link: link, Slowdown: 0.15, Select: rapid.SampledFrom([]Select{FirstFit, Avoid}).Draw(t, "select")}
		out, err := c.Run(jobs)
		require.NoError(t, err)
		for i, s := range out {
			require.GreaterOrEqual(t, s.Start, jobs[i].Arrive)
			require.Len(t, s.Hosts, jobs[i].Hosts)
			want := jobs[i].Runtime
			if Pairs(link, s.Hosts) > 0 {
				want *= 1.15
			}
			require.InDelta(t, want, s.End-s.Start, 1e-9)
			idle := s.Start > jobs[i].Arrive
			for k, other := range out {
				if k != i && s.Start < other.End && other.Start < s.End {
					require.NotSubset(t, append([]int{-1}, other.Hosts...), s.Hosts)
					for _, h := range s.Hosts {
						require.NotContains(t, other.Hosts, h)
					}
				}
				idle = idle && (k == i || other.End != s.Start)
			}
			require.False(t, idle, "job %d starts when nothing ends", i)
		}
	})
}

func TestAvoidHasFewestPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		link := rapid.SliceOfN(rapid.Int32Range(0, 3), 1, 9).Draw(t, "link")
		free := rapid.SliceOfN(rapid.Bool(), len(link), len(link)).Draw(t, "free")
		idle := FirstFit(free, link, len(link))
		hosts := rapid.IntRange(0, len(idle)).Draw(t, "hosts")
		least := len(link) * len(link)
		for set := range 1 << len(idle) {
			var some []int
			for i, h := range idle {
				if set>>i&1 == 1 {
					some = append(some, h)
				}
			}
			if len(some) == hosts {
				least = min(least, Pairs(link, some))
			}
		}
		require.Equal(t, least, Pairs(link, Avoid(free, link, hosts)))
	})
}

func TestRunRefuses(t *testing.T) {
	c := &Cluster{Link: []int32{0, 1}, Select: FirstFit}
	for want, jobs := range map[string][]Job{
		"job 0 wants 3 hosts: expected 1 to 2":                        {{0, 3, 1}},
		"job 1 arrives at -1 and runs for 1 s: expected times from 0": {{0, 1, 1}, {-1, 1, 1}},
		"job 0 arrives at 0 and runs for 0 s: expected times from 0":  {{0, 1, 0}},
		"job 0 was given 0 of 1 hosts":                                nil,
	} {
		if jobs == nil {
			jobs = []Job{{0, 1, 1}}
			c.Select = func([]bool, []int32, int) []int { return nil }
		} else {
			c.Select = FirstFit
		}
		_, err := c.Run(jobs)
		assert.EqualError(t, err, want)
	}
	c.Select = func([]bool, []int32, int) []int { return []int{2} }
	_, err := c.Run([]Job{{0, 1, 1}})
	assert.EqualError(t, err, "job 0 was given host 2, which is not free")
	c.Slowdown = -1
	_, err = c.Run(nil)
	assert.EqualError(t, err, "slowdown of -1: expected 0 or more")
}

package launcher

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/overlay"
)

func TestWhoKeepsOthersInInitIsNamed(t *testing.T) {
	runs := func(ranks ...int) []overlay.WaitRun { return overlay.AppendWaitRuns(nil, ranks) }
	const hint = ": that never ends, as every rank of an MPI job has to call MPI_Init; if some are no MPI programs, start them by a golaunch of their own"
	for name, x := range map[string]struct {
		world int
		wait  overlay.Wait
		want  string
	}{
		"one has ended": {0, overlay.Wait{Ended: runs(5)},
			"ranks 0-4,6-11 wait in MPI_Init for rank 5 on b, which has ended without calling it" + hint},
		"one waits": {0, overlay.Wait{Missing: runs(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)},
			"rank 0 waits in MPI_Init for ranks 1-3 on a, ranks 4-7 on b, ranks 8-11 on c, which have not called it"},
		"all kinds": {0, overlay.Wait{Ended: runs(0, 1), Missing: runs(2), Begun: runs(8, 9)},
			"ranks 3-7,10-11 wait in MPI_Init for ranks 0-1 on a, which have ended without calling it; and for rank 2 on a, which has not called it; " +
				"and for ranks 8-9 on c, which have begun it, but not come as far" + hint},
		"one has been there": {0, overlay.Wait{Left: runs(2)},
			"ranks 0-1,3-11 wait in MPI_Init for rank 2 on a, which has called it, and left before the others came"},
		"a spawned world": {1, overlay.Wait{Ended: runs(0)},
			"rank 1.1 waits in MPI_Init for rank 1.0 on a, which has ended without calling it" + hint},
		"a world that is over":            {2, overlay.Wait{Ended: runs(0)}, ""},
		"they have come meanwhile":        {0, overlay.Wait{}, ""},
		"nobody waits":                    {1, overlay.Wait{Missing: runs(0, 1)}, ""},
		"ranks that do not exist, either": {1, overlay.Wait{Missing: runs(0, 2, 3)}, "rank 1.1 waits in MPI_Init for rank 1.0 on a, which has not called it"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			r, _ := launchedRun(t)
			r.report, r.options.Start.StallAfter = &reporter{w: &said}, 10*time.Second
			p, err := NewPlan(options(t, "a:4,b:4,c:4", 12), "here")
			require.NoError(t, err)
			two, err := NewPlan(options(t, "a:4,b:4,c:4", 2), "here")
			require.NoError(t, err)
			r.plan = p
			r.worlds.launch(p)
			r.worlds.all[1], r.worlds.all[2] = &world{plan: two}, &world{plan: two, done: true}
			x.wait.ID = overlay.InitOf(x.world)
			r.stalls.asking = true
			require.NoError(t, r.stalls.take(overlay.Waits{Waits: []overlay.Wait{{ID: x.wait.ID}}}))
			for range 2 { // told once
				r.stalls.asking = true
				require.NoError(t, r.stalls.take(overlay.Waits{Number: r.stalls.question.Number, Waits: []overlay.Wait{x.wait}}))
			}
			if x.want != "" {
				x.want = "golaunch: after 10s: " + x.want + "\n"
			}
			require.Equal(t, x.want, said.String())
		})
	}
}

func TestManyRanksAreFolded(t *testing.T) {
	p, err := NewPlan(options(t, "n[001-128]:4", 512), "here")
	require.NoError(t, err)
	var odd, most []int
	for rank := 1; rank < 512; rank += 2 {
		odd = append(odd, rank)
	}
	for rank := 2; rank < 512; rank++ {
		most = append(most, rank)
	}
	require.Equal(t, "ranks 2-3 on n001, rank 9 on n003", p.ranksText(0, []int{2, 3, 9}))
	require.Equal(t, "ranks 2-511 on hosts n[001-128]", p.ranksText(0, most))
	require.Equal(t, "ranks 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 and 240 more of world 2 on hosts n[001-128]", p.ranksText(2, odd))

	list := "x"
	for i := range 100 {
		list += "," + string(rune('a'+i%26)) + "z" + string(rune('a'+i/26)) + ".example.org"
	}
	p, err = NewPlan(options(t, list, 101), "here")
	require.NoError(t, err)
	text := p.ranksText(0, most[:99])
	require.Less(t, len(text), 300)
	require.Contains(t, text, "ranks 2-100 on hosts bza.example.org,")
	require.Regexp(t, `,\.\.\.$`, text)
}

package launcher

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stdio"
)

// A phase is told where it tells something.
func TestFailuresAreDescribed(t *testing.T) {
	p, err := NewPlan(options(t, "n[001-003]:4", 12), "here")
	require.NoError(t, err)
	two, err := NewPlan(options(t, "n[001-003]:1", 2), "here")
	require.NoError(t, err)
	r := &run{plan: p}
	r.join()
	r.worlds.launch(p)
	r.worlds.own.done = true
	r.worlds.all[1], r.worlds.all[2] = &world{plan: two}, &world{plan: two, done: true}
	rank := job.Failure{Class: job.CauseExit, Rank: 5, Host: 1, PID: 9, Code: 7}
	with := func(change func(*job.Failure)) job.Failure { f := rank; change(&f); return f }
	lost := job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 2, Phase: "running", Text: "lost: x"}
	for _, x := range []struct {
		of   job.Failure
		want string
	}{
		{rank, "rank 5 on n002 (pid 9) exited with code 7"},
		{with(func(f *job.Failure) { f.Phase = "running" }), "rank 5 on n002 (pid 9) exited with code 7"},
		{with(func(f *job.Failure) { f.Phase = "in MPI_Init (PMI)" }), "rank 5 on n002 (pid 9) exited with code 7, in MPI_Init (PMI)"},
		{with(func(f *job.Failure) { f.Class, f.Phase, f.Text = job.CauseAbort, "running", "N/A" }), "rank 5 on n002 (pid 9) called abort with code 7"},
		{with(func(f *job.Failure) { f.Class, f.Phase, f.Text = job.CauseAbort, "running", "no cheese" }), "rank 5 on n002 (pid 9) called abort with code 7: no cheese"},
		{with(func(f *job.Failure) { f.Class, f.Signal, f.Phase = job.CauseSignal, 11, "running" }), "rank 5 on n002 (pid 9) was killed by signal 11 (segmentation fault)"},
		{with(func(f *job.Failure) {
			f.Class, f.Signal, f.Phase, f.Text = job.CauseSignal, 9, "running", "out of memory"
		}), "rank 5 on n002 (pid 9) was killed by signal 9: out of memory"},
		{with(func(f *job.Failure) { f.Class, f.Phase, f.Text = job.CauseAbort, "running", "one\nn003: two\n" }), "rank 5 on n002 (pid 9) called abort with code 7: one\n  | n003: two"},
		{lost, "host n003 (ranks 8-11): lost: x"},
		{job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 1, Phase: "start", Text: "x"}, "host n002 (ranks 4-7, rank 1.1): start: x"},
		{job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 7, Phase: "start", Text: "x"}, "host this machine: start: x"},
	} {
		require.Equal(t, x.want, describe(x.of, r.hostName, map[job.HostIndex]string{x.of.Host: r.worlds.ranksOn(x.of.Host)}))
	}
}

// Of the ranks that were told to end, those count that ran.
func TestRanksThatNeverRanWereNotEnded(t *testing.T) {
	p, err := NewPlan(options(t, "n[001-003]:4", 12), "here")
	require.NoError(t, err)
	for total, want := range map[overlay.Done]string{
		{Failed: 1, Ended: 11}:            "golaunch: 11 other ranks were ended\n",
		{Failed: 1, Ended: 11, Never: 10}: "golaunch: 1 other rank was ended\n",
		{Failed: 1, Ended: 11, Never: 11}: "",
	} {
		var said strings.Builder
		r := &run{plan: p, total: total, report: &reporter{w: &said}}
		r.join()
		r.verdict.add(job.Failure{Class: job.CauseExit, Rank: 5, Host: 1, PID: 9, Code: 7}, time.Now(), 0)
		r.report.failure(r, *r.verdict.cause())
		require.Equal(t, "golaunch: rank 5 on n002 (pid 9) exited with code 7\n"+want, said.String())
	}
}

// A line of golaunch's begins at the beginning of a line, whatever ranks wrote before
// it in the same place, and theirs is not ended twice.
//
//report:io ExaWorks/psij-python#509 words of the launcher among those of ranks
func TestOwnLinesBeginALine(t *testing.T) {
	type write struct {
		stream stdio.Stream // 0 for golaunch's own word
		text   string
	}
	out, err := stdio.Stdout, stdio.Stderr
	for _, c := range []struct {
		name     string
		onePlace bool
		writes   []write
		want     string // on standard error
	}{
		{"unfinished", false, []write{{err, "partial"}, {0, "a\nb"}, {0, "c"}}, "partial\ngolaunch: a\ngolaunch: b\ngolaunch: c\n"},
		{"finished", false, []write{{err, "whole\n"}, {0, "a"}}, "whole\ngolaunch: a\n"},
		{"nothing", false, []write{{0, "a"}}, "golaunch: a\n"},
		{"its newline comes later", false, []write{{err, "partial"}, {0, "a"}, {err, "\n"}, {err, "next\n"}, {err, "\n"}}, "partial\ngolaunch: a\nnext\n\n"},
		{"its rest comes later", false, []write{{err, "partial"}, {0, "a"}, {err, "rest"}, {0, "b"}}, "partial\ngolaunch: a\nrest\ngolaunch: b\n"},
		{"elsewhere", false, []write{{out, "partial"}, {0, "a"}}, "golaunch: a\n"},
		{"in the same place", true, []write{{out, "partial"}, {0, "a"}}, "partial\ngolaunch: a\n"},
	} {
		var errs, outs strings.Builder
		own := IO{Stdout: &outs, Stderr: &errs}
		if c.onePlace {
			own.Stdout = &errs
		}
		p := &reporter{w: &errs}
		ranks := terminal{own, samePlace(own.Stdout, own.Stderr), p}
		for _, w := range c.writes {
			if w.stream == 0 {
				p.Say("%s", w.text)
			} else {
				require.NoError(t, ranks.Write(w.stream, []byte(w.text)), c.name)
			}
		}
		require.Equal(t, c.want, errs.String(), c.name)
	}
}

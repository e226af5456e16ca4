package launcher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// Ranks that miss a lost node may end, and be heard of, before its loss is: the
// loss is the cause all the same, if it comes within the time that it takes to find
// it. Of other failures the first is.
func TestALostNodeIsTheCause(t *testing.T) {
	exit := job.Failure{Class: job.CauseExit, Rank: 0, Code: 1, Text: "exited with code 1"}
	lost := job.Failure{Class: job.CauseNodeLost, Rank: -1, Text: "link to its agent lost"}
	abort := job.Failure{Class: job.CauseAbort, Rank: 1, Code: 7}
	forged := job.Failure{Class: job.CauseNodeLost, Rank: -1, Text: "link to its agent lost: protocol error"}
	for _, x := range []struct {
		heard     []job.Failure
		apart     time.Duration
		keepGoing bool
		cause     job.Failure
	}{
		{[]job.Failure{exit, lost}, time.Second, false, lost},
		{[]job.Failure{lost, exit}, time.Second, false, lost},
		{[]job.Failure{exit, abort, lost}, time.Second, false, lost},
		{[]job.Failure{abort, lost}, time.Second, false, abort},
		{[]job.Failure{exit, abort}, time.Second, false, exit},
		{[]job.Failure{exit, lost}, time.Second, true, exit},
		{[]job.Failure{exit, lost}, 11 * time.Second, false, lost}, // --lost-after is 10 s
		{[]job.Failure{exit, lost}, 11*time.Second + 1, false, exit},
		{[]job.Failure{exit, lost}, time.Minute, false, exit},
		{[]job.Failure{exit, forged}, time.Minute, false, exit}, // while the job is being killed
		{[]job.Failure{lost, exit}, time.Minute, false, lost},
	} {
		r, _ := launchedRun(t)
		r.options.Ending.KeepGoing = x.keepGoing
		r.killed = true // nothing is left to be ended
		begin := time.Now()
		for i, f := range x.heard {
			r.failed(f, begin.Add(time.Duration(i)*x.apart))
		}
		require.Equal(t, x.cause, *r.verdict.cause())
		further, more := r.verdict.further()
		require.Zero(t, more)
		require.Len(t, further, len(x.heard)-1)
		require.NotContains(t, further, x.cause)
	}
}

// Others go on after the end of a rank where they are to. After a loss or an abort, or
// without a rank that never started, they do not.
func TestWhatEndsAJobThatKeepsGoing(t *testing.T) {
	for class, goesOn := range map[job.CauseClass]bool{
		job.CauseSignal: true, job.CauseExit: true, job.CauseNoFinalize: true, job.CauseProtocol: true,
		job.CauseAbort: false, job.CauseStart: false, job.CauseNodeLost: false,
	} {
		for _, code := range []int{job.ExitLauncher, job.ExitNotFound} {
			r, _ := launchedRun(t)
			r.options.Ending.KeepGoing = true
			r.failed(job.Failure{Class: class, Rank: 1, Code: code}, time.Now())
			require.Equal(t, goesOn, !r.killed, class)
		}
	}
}

package launcher

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
)

// Ranks that miss a lost node may end, and be heard of, before its loss is: the
// loss is the cause all the same. Of other failures the first is.
func TestALostNodeIsTheCause(t *testing.T) {
	exit := job.Failure{Class: job.CauseExit, Rank: 0, Code: 1, Text: "exited with code 1"}
	lost := job.Failure{Class: job.CauseNodeLost, Rank: -1, Text: "link to its agent lost"}
	abort := job.Failure{Class: job.CauseAbort, Rank: 1, Code: 7}
	for _, x := range []struct {
		heard     []job.Failure
		keepGoing bool
		cause     job.Failure
	}{
		{[]job.Failure{exit, lost}, false, lost},
		{[]job.Failure{lost, exit}, false, lost},
		{[]job.Failure{exit, abort, lost}, false, lost},
		{[]job.Failure{abort, lost}, false, abort},
		{[]job.Failure{exit, abort}, false, exit},
		{[]job.Failure{exit, lost}, true, exit},
	} {
		r, _ := launchedRun(t)
		r.KeepGoing = x.keepGoing
		r.killed = true // nothing is left to be ended
		for _, f := range x.heard {
			r.failed(f)
		}
		require.Equal(t, x.cause, *r.cause)
		require.Len(t, r.further, len(x.heard)-1)
		require.NotContains(t, r.further, x.cause)
	}
}

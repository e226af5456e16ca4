package launcher

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// endedTree is a tree of which the manager may have ended all agents.
type endedTree struct {
	jobTree
	err *bootstrap.Error
}

func (t endedTree) Whole(*job.Failure) *bootstrap.Error { return t.err }

// The end of all agents at once is told instead of the loss of a host, and no host is
// to blame.
func TestTheEndOfAllAgentsIsNoLoss(t *testing.T) {
	for whole, want := range map[bootstrap.Whole]struct {
		status  int
		says    string
		decided bool
	}{
		bootstrap.WholeCancelled: {job.ExitTERM, "golaunch: the step was cancelled: the job is ended\n", true},
		bootstrap.WholeEnded:     {job.ExitLauncher, "golaunch: the step was cancelled: the job is ended\n", false},
		bootstrap.WholeRuns:      {0, "", false},
	} {
		r, _ := launchedRun(t)
		var said bytes.Buffer
		r.report = newReporter(&said, false)
		ended := endedTree{jobTree: r.tree}
		if whole != bootstrap.WholeRuns {
			ended.err = &bootstrap.Error{Host: "b", Err: errors.New("the step was cancelled"), Whole: whole}
		}
		r.tree = ended
		lost := job.Failure{Class: job.CauseNodeLost, Rank: -1, Text: "link lost"}
		require.Equal(t, whole != bootstrap.WholeRuns, r.wholeEnded(&lost))
		require.Equal(t, want.status, r.status)
		require.Equal(t, want.decided, r.decided)
		require.Equal(t, want.says, said.String())
	}
}

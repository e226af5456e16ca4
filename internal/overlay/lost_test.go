package overlay

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
)

func TestLost(t *testing.T) {
	const hint = " (is the host up, and reached from the others? was the agent there killed? dmesg there may tell)"
	for cause, want := range map[string]string{
		"nothing was heard of the peer for 10s":                   "lost: the link to its agent broke: nothing was heard of the peer for 10s" + hint,
		"the peer closed it without END; it said: panic: no room": "lost: the link to its agent broke: the peer closed it without END; it said: panic: no room",
		"protocol error: message \"done\": 7 ranks":               "lost: the link to its agent broke: protocol error: message \"done\": 7 ranks",
	} {
		require.Equal(t, want, Lost(3, "running", fmt.Errorf("%w: %s", link.ErrLost, cause), 0).Text)
	}
	require.Equal(t, "lost: the link to its agent broke: its agent ended"+hint, Lost(3, "running", errEnded, 0).Text)
	require.Equal(t, job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 3, Phase: "launch", Text: "lost: the link to its agent broke: protocol error: a second range (with 2 nodes below it)"},
		Lost(3, "launch", BrokeProtocol(errors.New("a second range")), 2))
}

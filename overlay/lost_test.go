package overlay

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/link"
)

func TestLostText(t *testing.T) {
	const hint = " (is the host up, and reached from the others? was the agent there killed? dmesg there may tell)"
	for cause, want := range map[string]string{
		"nothing was heard of the peer for 10s":                   "lost: the link to its agent broke: nothing was heard of the peer for 10s" + hint,
		"the peer closed it without END; it said: panic: no room": "lost: the link to its agent broke: the peer closed it without END; it said: panic: no room",
		"protocol error: message \"done\": 7 ranks":               "lost: the link to its agent broke: protocol error: message \"done\": 7 ranks",
	} {
		require.Equal(t, want, LostText(fmt.Errorf("%w: %s", link.ErrLost, cause)))
	}
	require.Equal(t, "lost: the link to its agent broke: its agent ended"+hint, LostText(errors.New("its agent ended")))
}

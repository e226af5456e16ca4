package proc

import (
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What an agent ignores, of what comes from a terminal, ranks do not.
func TestRanksIgnoreNothing(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE}
	for _, s := range signals {
		signal.Ignore(s)
		defer signal.Reset(s)
	}
	f := begin(t, Options{})
	f.launch(1, "/bin/grep", "SigIgn", "/proc/self/status")
	f.ends(1)
	mask, err := strconv.ParseUint(strings.Fields(f.output(0))[1], 16, 64)
	require.NoError(t, err)
	for _, s := range signals {
		require.Zero(t, mask>>(s-1)&1, s)
	}
	f.finishes()
}

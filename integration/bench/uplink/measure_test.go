package uplink

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A job is measured between the words of its rank 0, and one with other words fails.
func TestMeasure(t *testing.T) {
	of := func(script string) ([]reading, error) {
		bytes := uint64(0)
		return measure(exec.Command("/bin/sh", "-c", script), 2, func() (uint64, error) {
			bytes += bytes + 1
			return bytes, nil
		})
	}
	const once = "echo ready; read x; echo seconds 0.25; read x; "
	got, err := of(once + once)
	require.NoError(t, err)
	require.Equal(t, []reading{{bytes: 2, seconds: 0.25}, {bytes: 8, seconds: 0.25}}, got)
	for script, want := range map[string]string{
		once:                                  "the job ended too soon",
		once + "echo steady":                  `rank 0 said "steady", not "ready"`,
		"echo ready; read x; echo seconds x;": `rank 0 said "seconds x", not "seconds %g"`,
		once + once + "echo more":             `unexpected line "more"`,
		once + once + "exit 3":                "exit status 3",
	} {
		_, err := of(script)
		require.EqualError(t, err, want)
	}
}

package sshboot

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every agent is linked with this package, and pays for what it makes before main.
// Tables that most of them never ask for are no part of that.
func TestLittleIsMadeAtTheStart(t *testing.T) {
	const most = 60 // allocations
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^init \S+/bootstrap/ssh @.* (\d+) allocs$`).FindSubmatch(out)
	require.NotNil(t, line, "%s", out)
	var allocs int
	_, err = fmt.Sscan(string(line[1]), &allocs)
	require.NoError(t, err)
	require.LessOrEqual(t, allocs, most, "%s", line[0])
}

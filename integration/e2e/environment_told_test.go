package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Help names each variable that golaunch sets for a rank.
func TestHelpNamesTheVariables(t *testing.T) {
	help := local(t, "", "help", "environment")
	require.Zero(t, help.code, help.stderr)
	told := strings.FieldsFunc(help.stdout, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
	r := local(t, "", "-n", "1", "--restarts", "1", "--stage", "doc.go", "env", "-0")
	require.Zero(t, r.code, r.stderr)
	set := 0
	for _, entry := range strings.Split(strings.TrimSuffix(r.stdout, "\x00"), "\x00") {
		name, _, _ := strings.Cut(entry, "=")
		if _, inherited := os.LookupEnv(name); inherited || name == "PWD" {
			continue
		}
		set++
		require.True(t, slices.Contains(told, name), "%s is set, and 'golaunch help environment' does not name it", name)
	}
	require.Greater(t, set, 15)
}

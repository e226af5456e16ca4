package pmi_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each of the 18 corner cases in docs/pmi1.md and docs/pmi2.md has a test here,
// in internal/proc or end to end, whose name begins with its number.
func TestEveryCornerCaseHasATest(t *testing.T) {
	var all strings.Builder
	for _, dir := range []string{".", "../internal/proc", "../integration/e2e"} {
		files, err := fs.Glob(os.DirFS(dir), "*_test.go")
		require.NoError(t, err)
		for _, name := range files {
			text, err := fs.ReadFile(os.DirFS(dir), name)
			require.NoError(t, err)
			all.Write(text)
		}
	}
	for n := 1; n <= 18; n++ {
		require.Contains(t, all.String(), fmt.Sprintf("func TestCorner%02d", n))
	}
}

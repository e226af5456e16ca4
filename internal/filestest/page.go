package filestest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Says fails a test where a page below docs does not have some words. Lines may end
// anywhere. It finds the page from the directory of any package.
func Says(t testing.TB, page string, words ...string) {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		require.NotEqual(t, dir, up, "no go.mod above")
		dir = up
	}
	b, err := os.ReadFile(filepath.Join(dir, "docs", page))
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(b)), " ")
	for _, w := range words {
		require.Contains(t, text, w, "%s does not say so", page)
	}
}

package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testName is the name of a test, with "…" where the page gives only its beginning.
var testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*…?`)

// Each test that a page names exists.
func TestTestsOfPages(t *testing.T) {
	tests := map[string]bool{}
	for _, s := range scan(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil {
				tests[f.Name.Name] = true
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join(repository(t), "docs", "*.md"))
	require.NoError(t, err)
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, name := range testName.FindAllString(string(text), -1) {
			named++
			assert.True(t, exists(tests, name), "docs/%s: no test %s", filepath.Base(page), name)
		}
	}
	require.NotZero(t, named)
}

// exists says whether there is a test of that name, or one that begins so.
func exists(tests map[string]bool, name string) bool {
	beginning, cut := strings.CutSuffix(name, "…")
	if !cut {
		return tests[name]
	}
	for test := range tests {
		if strings.HasPrefix(test, beginning) {
			return true
		}
	}
	return false
}

func TestExists(t *testing.T) {
	tests := map[string]bool{"TestOne": true}
	for name, there := range map[string]bool{"TestOne": true, "TestO…": true, "TestO": false, "TestOneMore": false, "TestTwo…": false} {
		assert.Equal(t, there, exists(tests, name), name)
	}
}

package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// uncitable is what a reader of the repository cannot find: docs/references.md says
// how sources are cited.
var uncitable = regexp.MustCompile(`(?i)design sections? \d|\bseed 00\d|\bthe thesis\b|\bissues? #?\d`)

// cited finds works as they are cited, with a section: [Sridhar 3.2].
var cited = regexp.MustCompile(`\[([A-Z]\w+(?: and [A-Z]\w+)?) \d+(?:\.\d+)*\b`)

// What comments and pages cite stands in docs/references.md.
func TestSourcesCanBeFound(t *testing.T) {
	root := repository(t)
	references, err := os.ReadFile(filepath.Join(root, "docs", "references.md"))
	require.NoError(t, err)
	works := map[string]bool{}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() {
			if name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".md", ".c", ".h", ".sh", ".in", ".txt", ".yaml", "":
		default:
			return nil
		}
		if filepath.Base(name) == "sources_test.go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name) // it is below root
		for i, line := range strings.Split(string(text), "\n") {
			assert.False(t, uncitable.MatchString(line), "%s:%d: %s", rel, i+1, line)
		}
		for _, m := range cited.FindAllStringSubmatch(string(text), -1) {
			works[m[1]] = true
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, works)
	for work := range works {
		assert.Contains(t, string(references), "\n| "+work+" |")
	}
}

func TestCited(t *testing.T) {
	for text, work := range map[string]string{
		"// as [Sridhar 3.2] has it": "Sridhar", "[Kim 4]": "Kim", "[Dally and Seitz 2.1, 3]": "Dally and Seitz",
		"[Router]": "", "[docs](docs/x.md)": "", "n[001-004]": "", "[RFC4253]": "",
	} {
		found := ""
		if m := cited.FindStringSubmatch(text); m != nil {
			found = m[1]
		}
		assert.Equal(t, work, found, text)
	}
}

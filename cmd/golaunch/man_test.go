package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

// Each command has a manual page, which names all of its flags, and that of golaunch
// all commands; no other page is there.
func TestManPages(t *testing.T) {
	golaunch, err := exec.LookPath("golaunch") // this program
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "man1"), 0o755))
	pages := map[string]string{}
	sources, err := filepath.Glob("../../docs/man/*.1.in")
	require.NoError(t, err)
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".1.in")
		cmd := exec.Command("../../scripts/man.sh", golaunch, name)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		page, err := cmd.Output()
		require.NoError(t, err, "%s: %s", name, &complaints)
		require.Empty(t, complaints.String(), name)
		assert.NotRegexp(t, `@[A-Z]+[ @]`, string(page), name)
		pages[name] = string(page)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "man1", name+".1"), page, 0o600))
	}
	assert.Len(t, pages, 1+len(commands()), "pages in docs/man")

	hasItem := func(page, tag string) bool {
		return strings.Contains(pages[page], "\n.TP\n.B "+strings.ReplaceAll(tag, "-", `\-`)+"\n")
	}
	for _, c := range commands() {
		name := "golaunch-" + c.name
		assert.True(t, hasItem("golaunch", c.name), "%s in golaunch.1", c.name)
		page := name
		if c.name == defaultCommand {
			assert.Equal(t, ".so man1/golaunch.1\n", pages[name])
			page = "golaunch"
		}
		f, _ := c.setup()
		flags.EachShown(f, func(f *pflag.Flag) {
			assert.True(t, hasItem(page, strings.TrimSpace(flagColumn(f))), "--%s in %s.1", f.Name, page)
		})
	}
	for _, topic := range topics() {
		assert.True(t, hasItem("golaunch-help", topic.name), topic.name)
	}

	t.Run("groff", func(t *testing.T) {
		if _, err := exec.LookPath("groff"); err != nil {
			t.Skip("skipped: no groff, so the pages' markup is not checked; apt-get install groff")
		}
		for name := range pages {
			cmd := exec.Command("groff", "-man", "-ww", "-z", "-Tutf8", filepath.Join("man1", name+".1"))
			cmd.Dir = dir
			said, err := cmd.CombinedOutput()
			assert.NoError(t, err, name)
			assert.Empty(t, string(said), name)
		}
	})
}

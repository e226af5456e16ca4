package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The package of make deb is installed by dpkg below a directory, starts ranks on two
// nodes from there, and is removed without a trace; lintian finds nothing in it.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"dpkg-deb", "dpkg"} {
		needShell(t, tool)
	}
	needBuilt(t, "lib/golaunch/libpmi.so", "gcc")
	if os.Getuid() != 0 {
		t.Skip("skipped: dpkg installs as root alone")
	}
	packed := func(version string) (deb string) {
		out := t.TempDir()
		cmd := exec.Command("../../scripts/deb.sh")
		cmd.Env = append(os.Environ(), "BIN="+built, "OUT="+out, "VERSION="+version, "SOURCE_DATE_EPOCH=1000000000",
			"DPKG_DEB_COMPRESSOR_LEVEL=0") // the default takes most of a minute
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
		files, err := filepath.Glob(filepath.Join(out, "golaunch_"+version+"_*.deb"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		return files[0]
	}
	contents := func(file string) []byte {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return text
	}
	deb := packed("1.2")
	require.True(t, bytes.Equal(contents(deb), contents(packed("1.2"))), "the same build is the same package")

	root := t.TempDir()
	for _, dir := range []string{"updates", "info", "parts", "triggers"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755))
	}
	for _, file := range []string{"status", "available"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg", file), nil, 0o644))
	}
	dpkg := func(args ...string) {
		t.Helper()
		output, err := exec.Command("dpkg", append([]string{"--root=" + root, "--log=/dev/null", "--force-depends", "--force-not-root"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	files := func() (names []string) {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, "usr"), func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err == nil && !d.IsDir() {
				names = append(names, strings.TrimPrefix(path, root))
			}
			return err
		}))
		return names
	}
	dpkg("--install", deb)
	installed := files()
	for _, name := range []string{
		"/usr/bin/golaunch", "/usr/lib/golaunch/libpmi.so", "/usr/share/man/man1/golaunch.1.gz", "/usr/share/man/man1/golaunch-topo.1.gz",
		"/usr/share/bash-completion/completions/golaunch", "/usr/share/zsh/vendor-completions/_golaunch", "/usr/share/doc/golaunch/copyright",
	} {
		require.Contains(t, installed, name)
	}
	output, err := exec.Command(filepath.Join(root, "usr/bin/golaunch"), "-n", "2", "--nodes", "2", "--copy-agent", "-l", "echo", "hello").CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.ElementsMatch(t, []string{"[0] hello", "[1] hello"}, strings.Split(strings.TrimSpace(string(output)), "\n"))
	dpkg("--purge", "golaunch")
	require.Empty(t, files())

	t.Run("lintian", func(t *testing.T) {
		if _, err := exec.LookPath("lintian"); err != nil {
			t.Skip("skipped: no lintian; apt-get install lintian")
		}
		output, err := exec.Command("lintian", "--allow-root", "--fail-on", "error,warning", deb, packed("1.2-1")).CombinedOutput()
		require.NoError(t, err, "%s", output) // with a revision of Debian's other rules hold
		require.Empty(t, string(output))
	})
}

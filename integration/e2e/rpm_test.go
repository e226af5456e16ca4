package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The package of make rpm is installed by rpm below a directory, starts ranks on two
// nodes from there, and is removed without a trace.
func TestRPMPackage(t *testing.T) {
	for _, tool := range []string{"rpmbuild", "rpm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("skipped: no %s; apt-get install rpm", tool)
		}
	}
	needBuilt(t, "lib/golaunch/libpmi.so", "gcc")
	if os.Getuid() != 0 {
		t.Skip("skipped: rpm installs as root alone")
	}
	out, root := t.TempDir(), t.TempDir()
	cmd := exec.Command("../../scripts/rpm.sh")
	cmd.Env = append(os.Environ(), "BIN="+built, "OUT="+out, "VERSION=1.2", "SOURCE_DATE_EPOCH=1000000000")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	packages, err := filepath.Glob(filepath.Join(out, "golaunch-1.2-1.*.rpm"))
	require.NoError(t, err)
	require.Len(t, packages, 1)

	rpm := func(args ...string) string {
		t.Helper()
		output, err := exec.Command("rpm", append([]string{"--root=" + root}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	rpm("--install", "--nodeps", "--noscripts", packages[0])
	files := rpm("--query", "--list", "golaunch")
	for _, name := range []string{
		"/usr/bin/golaunch", "/usr/lib/golaunch/libpmi.so", "/usr/share/man/man1/golaunch.1.gz",
		"/usr/share/bash-completion/completions/golaunch", "/usr/share/licenses/golaunch/LICENSE",
	} {
		require.Contains(t, strings.Split(files, "\n"), name)
		require.FileExists(t, filepath.Join(root, name))
	}
	output, err = exec.Command(filepath.Join(root, "usr/bin/golaunch"), "-n", "2", "--nodes", "2", "--copy-agent", "-l", "echo", "hello").CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.ElementsMatch(t, []string{"[0] hello", "[1] hello"}, strings.Split(strings.TrimSpace(string(output)), "\n"))
	rpm("--erase", "--noscripts", "golaunch")
	require.NoFileExists(t, filepath.Join(root, "usr/bin/golaunch"))
}

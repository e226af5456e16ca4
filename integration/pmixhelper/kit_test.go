package pmixhelper

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kit is an MPI with its libpmix, and how programs and the helper are made and run for
// it.
type kit struct {
	name    string
	helper  string
	library string
	loader  []string // the command that runs the helper; none if it runs itself
	env     []string
	build   func(t *testing.T, source string, flags ...string) string
	client  func(t *testing.T, source string) string // a program that uses PMIx alone
}

// root is the repository's directory.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return dir
}

// buildHelper makes golaunch-pmix.
func buildHelper(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("skipped: no gcc; apt-get install gcc")
	}
	dir := t.TempDir()
	cmd := exec.Command(filepath.Join(root(t), "scripts", "native.sh"), "native/pmix")
	cmd.Env = append(os.Environ(), "OUT="+dir, "LIB="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "golaunch-pmix")
}

func compile(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	out, err := exec.Command(compiler, append([]string{"-O1", "-o", program, source}, flags...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// openMPI4 is this machine's Open MPI.
func openMPI4(t *testing.T) kit {
	t.Helper()
	if _, err := exec.LookPath("mpicc.openmpi"); err != nil {
		t.Skip("skipped: no Open MPI; apt-get install libopenmpi-dev openmpi-bin")
	}
	return kit{
		name: "Open MPI 4", helper: buildHelper(t), library: "libpmix.so.2",
		build: func(t *testing.T, source string, flags ...string) string {
			return compile(t, "mpicc.openmpi", source, flags...)
		},
		client: func(t *testing.T, source string) string {
			headers := "/usr/lib/x86_64-linux-gnu/pmix2/include"
			if _, err := os.Stat(headers); err != nil {
				t.Skip("skipped: no headers of PMIx; apt-get install libpmix-dev")
			}
			return compile(t, "gcc", source, "-I"+headers, "-l:libpmix.so.2")
		},
	}
}

// openMPI5 is Open MPI 5, which scripts/openmpi5.sh unpacks beside this machine's
// libraries: with its own C library, which the helper is run with too.
func openMPI5(t *testing.T) kit {
	t.Helper()
	tree := filepath.Join(root(t), ".cache", "openmpi5")
	lib := filepath.Join(tree, "usr", "lib", "x86_64-linux-gnu")
	loader := filepath.Join(tree, "usr", "lib64", "ld-linux-x86-64.so.2")
	if _, err := os.Stat(loader); err != nil {
		t.Skip("skipped: no Open MPI 5; scripts/openmpi5.sh")
	}
	link := []string{"-L" + lib,
		"-Wl,--allow-shlib-undefined,--disable-new-dtags,--dynamic-linker=" + loader + ",-rpath," + lib}
	return kit{
		name: "Open MPI 5", helper: buildHelper(t), library: "libpmix.so.2",
		loader: []string{loader, "--library-path", lib},
		build: func(t *testing.T, source string, flags ...string) string {
			flags = append(flags, "-I"+filepath.Join(lib, "openmpi", "include"))
			return compile(t, "gcc", source, append(append(flags, link...), "-l:libmpi.so.40")...)
		},
		client: func(t *testing.T, source string) string {
			flags := []string{"-I" + filepath.Join(lib, "pmix2", "include")}
			return compile(t, "gcc", source, append(append(flags, link...), "-l:libpmix.so.2")...)
		},
	}
}

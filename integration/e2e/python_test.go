package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// pythonHere has python3 find the module of this checkout, and the library that the
// tests run.
func pythonHere(t *testing.T) {
	t.Helper()
	needShell(t, "python3")
	module, err := filepath.Abs("../../python")
	require.NoError(t, err)
	t.Setenv("PYTHONPATH", module)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("LD_LIBRARY_PATH", bin("lib"))
}

// Ranks in Python do every operation of their module, with short and long data, and
// what is wrong raises.
func TestPythonTour(t *testing.T) {
	pythonHere(t)
	for _, x := range []struct{ ranks, nodes, elements int }{{1, 1, 1}, {8, 4, 10}, {5, 2, 20_000}} {
		r := local(t, "", "-n", fmt.Sprint(x.ranks), "--nodes", fmt.Sprint(x.nodes), "python3", "../../python/examples/tour.py", fmt.Sprint(x.elements))
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, fmt.Sprintf("tour of %d ranks on %d nodes: ok\n", x.ranks, x.nodes), r.stdout)
	}
}

// A work queue in Python, whose ranks have as much to do as they can.
func TestPythonWorkQueue(t *testing.T) {
	pythonHere(t)
	r := local(t, "", "-n", "6", "--nodes", "3", "python3", "../../python/examples/workqueue.py", "100")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "100 tasks, results add up to 328350\n", r.stdout)
}

// What Python says where there is no library, and where there is no job.
func TestPythonWithoutAJob(t *testing.T) {
	pythonHere(t)
	r := local(t, "", "-n", "1", "sh", "-c", "unset GOLAUNCH_FD; exec python3 -c 'import golaunch; golaunch.Job()'")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "golaunch.Error: $GOLAUNCH_FD is not set: not a rank of a golaunch job")
	r = local(t, "", "-n", "1", "python3", "-c", "import golaunch; golaunch._library.VERSION = 999; golaunch.Job()")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "golaunch.Error: libgolaunch.so.999: cannot open shared object file")
	require.Contains(t, r.stderr, "make install installs it, LD_LIBRARY_PATH names its directory")
}

package launcherload

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
)

// Memory that golaunch holds for each node grows with the job; its other memory hides
// that at any size that a test has time for. The slope does not.
func TestWhatTheLauncherHoldsForEachNode(t *testing.T) {
	const few, many = 256, 1024
	const most = 620 // bytes: 515 to 545 were measured, on a quiet machine and a busy one; 200 more are found
	live(t, few)     // things made once are there
	slopes := make([]int64, 3)
	for i := range slopes {
		slopes[i] = (live(t, many) - live(t, few)) / (many - few)
	}
	t.Logf("bytes for each node: %d", slopes)
	require.Positive(t, results.Median(slopes))
	require.LessOrEqual(t, results.Median(slopes), int64(most), "bytes for each node")
}

// live runs a job's launcher in this process and returns its memory for most of the
// time, in bytes: the median after collections of garbage.
func live(t *testing.T, nodes int) int64 {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	o := launcher.DefaultOptions()
	o.Hosts.List, err = hostlist.Parse(fmt.Sprintf("x[1-%d]", nodes), "-H")
	require.NoError(t, err)
	o.Programs.Apps = []job.App{{Argv: []string{"true"}, N: nodes}}
	o.Programs.Env, o.Programs.Dir = os.Environ(), t.TempDir()
	o.Boot.Bootstrap = "exec"
	o.Boot.Values = bootstrap.Values{"exec-command": self + " launcherload " + rootWord + " {host} {command}", "exec-from": "nodes"}
	o.Tree.Degree, o.Placement.PPN = 16, 1
	o.Input.Stdin = launcher.StdinNone
	o.Start.ConnectTimeout, o.Start.LostAfter = time.Minute, time.Minute

	var said bytes.Buffer
	before := collected()
	var samples []int64
	ended := make(chan int, 1)
	go func() {
		ended <- launcher.Run(context.Background(), o, launcher.IO{Stdin: null, Stdout: &said, Stderr: &said})
	}()
	for {
		select {
		case code := <-ended:
			require.Zero(t, code, &said)
			return results.Median(samples) - before
		default:
			samples = append(samples, collected())
		}
	}
}

func collected() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

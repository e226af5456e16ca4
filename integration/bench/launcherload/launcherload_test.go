package launcherload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/internal/overlay"
)

func TestMain(m *testing.M) {
	var err error
	switch words := os.Args[1:]; {
	case len(words) > 0 && words[0] == "launcherload":
		err = Run(context.Background(), results.NewFlags(words[0], words[1:]...))
	case overlay.IsAgent(words):
		err = Branch(words)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "launcherload:", err)
		os.Exit(1)
	}
}

// heard measures again where golaunch has killed all agents, for they took long to end: this
// machine is busy.
func heard(t *testing.T, measure func() (load, error)) load {
	t.Helper()
	l, err := measure()
	for try := 1; try < 5 && errors.Is(err, errNoWord); try++ {
		l, err = measure()
	}
	require.NoError(t, err)
	return l
}

// golaunch keeps few descriptors and little memory, however many nodes and ranks
// there are.
func TestWhatTheLauncherTakes(t *testing.T) {
	golaunch := t.TempDir() + "/golaunch"
	out, err := exec.Command("go", "build", "-o", golaunch, "../../../cmd/golaunch").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, nodes := range []int{8, 512} { // 4,096 ranks, of whose agents none is refused
		l := heard(t, func() (load, error) { return measure(t.Context(), golaunch, nodes, 8, 16) })
		require.Positive(t, l.memory)
		require.LessOrEqual(t, l.memory, l.bound(), "%d nodes", nodes)
		require.Positive(t, l.descriptors)
		const own = 32 // that golaunch counts on, launcher/run.go
		require.LessOrEqual(t, l.descriptors, own, "%d nodes", nodes)
		require.Positive(t, l.agents)
	}
}

// Agents that call take a descriptor of golaunch's each, and only until the launch.
func TestWhatCallsTake(t *testing.T) {
	golaunch := t.TempDir() + "/golaunch"
	out, err := exec.Command("go", "build", "-o", golaunch, "../../../cmd/golaunch").CombinedOutput()
	require.NoError(t, err, "%s", out)
	const nodes, own = 64, 32
	l := heard(t, func() (load, error) { return measureCalls(t.Context(), golaunch, nodes, 2, 16) })
	require.Equal(t, nodes, l.agents)
	require.LessOrEqual(t, l.descriptors, nodes+own)
}

func TestPageOfCalls(t *testing.T) {
	loads := []load{
		{nodes: 64, ppn: 1, descriptors: 74, memory: 12e6, cpu: 50 * time.Millisecond, wall: time.Second, agents: 1},
		{nodes: 256, ppn: 1, descriptors: 266, memory: 24e6, cpu: 242 * time.Millisecond, wall: 3 * time.Second, agents: 1},
		{nodes: 1024, ppn: 1, descriptors: 1034, memory: 72e6, cpu: 1778 * time.Millisecond, wall: 11 * time.Second, agents: 1},
	}
	text := callsPage(settings{degree: 16, Frame: results.NewFlags("launcherload", "-calls").Frame}, loads)
	require.Contains(t, text, "bin/bench launcherload -calls\n")
	require.Contains(t, text, "| 256 | 256 | 266 | 1.00 | 24.0 | 62.5 | 242.0 | 1000 | 3.00 | 10.42 |")
	require.Contains(t, text, "From 256 to 1024 nodes a node more costs so many times what it does from 64 to 256 (1 is linear): descriptors 1.00, memory 1.00, CPU 2.00, wall time 1.00.\n")
}

func TestProcessesAreRead(t *testing.T) {
	state, _, err := processorTime(os.Getpid())
	require.NoError(t, err)
	require.Contains(t, []string{"R", "S", "D"}, state, "of a process that lives; D while memory is brought in")
	require.Positive(t, threadTime(os.Getpid()))
	require.EqualValues(t, 4096, peak("Name:\tx\nVmHWM:\t       4 kB\nVmRSS:\t 3 kB\n"))
	_, _, err = processorTime(-1)
	require.Error(t, err)
}

func TestPage(t *testing.T) {
	loads := []load{
		median([]load{{nodes: 10, ppn: 2, memory: 3e6, cpu: time.Millisecond, agents: 10, agentMemory: 20e3}, {memory: 1e6, agents: 5}, {memory: 2e6, agents: 1}}),
		{nodes: 110, ppn: 2, descriptors: 9, memory: 2_500_000, cpu: 11 * time.Millisecond, wall: time.Second, agents: 2, agentMemory: 5e3, agentCPU: 3 * time.Millisecond},
	}
	text := page(settings{degree: 16, Frame: results.Frame{Runs: 3, Shared: true}}, loads)
	require.Contains(t, text, "\n**Other programs ran at the same time: ratios count, and are rough.**\n")
	require.Contains(t, text, "\n| 10 | 20 | 0 | 2.0 | 20.0 | – | 0.0 | 0.0 | 0.00 | 0 | 0.00 |\n")
	require.Contains(t, text, "\n\nWith 2 per node it would take more memory than it may from about 3811 nodes on.\n")
	loads[1].memory = 2_020_000
	require.Contains(t, page(settings{}, loads), "\n\nWith 2 per node memory grows no faster than it may.\n")
	require.Contains(t, text, "\n| 110 | 220 | 9 | 2.5 | 20.0 | 5000 | 11.0 | 100.0 | 1.00 | 2 | 1.50 |\n", fmt.Sprint(loads))
}

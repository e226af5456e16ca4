package e2e

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/programs"
	"github.com/golaunch/golaunch/internal/agent"
	"github.com/golaunch/golaunch/internal/overlay"
)

// nodes is the size of the cluster that most tests share.
const nodes = 200

// patient are variables of all golaunch, whose lines count more: on a busy machine a process
// may be silent, or late, for longer than the defaults allow.
var patient = []string{"GOLAUNCH_STALL_AFTER=1m", "GOLAUNCH_LOST_AFTER=1m"}

// built holds what the tests run: golaunch and the native programs.
var built string

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == rawWord {
		rawMain(os.Args[2])
		return
	}
	if overlay.IsAgent(os.Args[1:]) {
		os.Exit(agent.Main(os.Args[1:]))
	}
	// In a job in the background shells ignore SIGINT, and so would golaunch.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	var err error
	if built, err = programs.Make(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: build what the tests run:", err)
		os.Exit(1)
	}
	for _, kv := range patient {
		name, value, _ := strings.Cut(kv, "=")
		os.Setenv(name, value)
	}
	code := m.Run()
	if shared.cluster != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.cluster.Down(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: take the cluster down:", err)
			code = 1
		}
	}
	os.RemoveAll(built)
	os.Exit(code)
}

// needMPI skips where no MPI library is installed.
func needMPI(t *testing.T) {
	needBuilt(t, "mpisum", "libmpich-dev mpich")
}

var shared struct {
	once    sync.Once
	cluster *cluster.Cluster
	err     error
}

// needCluster skips where a cluster cannot be made.
func needCluster(t *testing.T) {
	if err := cluster.Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
}

// theCluster returns the cluster that tests share. They must leave its nodes
// as they were.
func theCluster(t *testing.T) *cluster.Cluster {
	needCluster(t)
	shared.once.Do(func() {
		dir, err := os.MkdirTemp(built, "cluster-")
		if err != nil {
			shared.err = err
			return
		}
		shared.cluster, shared.err = cluster.Up(context.Background(), cluster.Config{Dir: filepath.Join(dir, "c"), Nodes: nodes, Share: programs.Shared(built)})
	})
	require.NoError(t, shared.err)
	return shared.cluster
}

// ownCluster returns a cluster for one test that breaks nodes.
func ownCluster(t *testing.T, n int) *cluster.Cluster {
	return clusterOf(t, cluster.Config{Nodes: n})
}

// clusterOf returns one of a kind, for one test.
func clusterOf(t *testing.T, config cluster.Config) *cluster.Cluster {
	needCluster(t)
	dir, err := os.MkdirTemp(built, "cluster-")
	require.NoError(t, err)
	config.Dir, config.Share = filepath.Join(dir, "c"), programs.Shared(built)
	c, err := cluster.Up(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Down(context.Background())) })
	return c
}

func bin(name string) string { return filepath.Join(built, name) }

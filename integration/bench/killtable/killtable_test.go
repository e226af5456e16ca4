package killtable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/programs"
)

// On a busy machine leftovers may take long to go, and nodes that are late are not lost.
const unhurried, calm = 2 * time.Minute, 5 * time.Second

// TestKillTable runs the cells once; the command runs them often. Of start-up,
// whose cells take long, it runs those that differ in what golaunch does.
func TestKillTable(t *testing.T) {
	bin, err := programs.Make()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(bin) })
	starting := []string{"kill -9 of golaunch", "kill -9 of a middle NLA's agent", "kill -9 of a middle NLA's warden", "kill -9 of a leaf NLA's agent", "SIGSTOP of an agent"}
	for _, place := range []struct {
		as     string
		phases []phase
	}{{"root", []phase{startUp, steady}}, {"root", []phase{barrier, flood, fence}}, {"user", []phase{steady}}, {"docker", []phase{startUp, steady}}, {"slurm", []phase{steady}}} {
		t.Run(fmt.Sprint(place.as, place.phases), func(t *testing.T) {
			t.Parallel() // each has a cluster of its own
			config := places[place.as].config
			if err := unavailable(config); err != nil {
				t.Skipf("skipped: no test cluster here: %v", err)
			}
			config.Nodes, config.Share = nodeCount, []string{bin}
			require.NoError(t, cluster.With(t.Context(), bin, config, func(c *cluster.Cluster, _ string) error {
				everyCell(t, c, bin, places[place.as].way, place.phases, starting)
				return nil
			}))
		})
	}
}

// A run whose blow cannot fall is an error, and over.
func TestABlowThatDoesNotFall(t *testing.T) {
	if err := cluster.Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
	bin, err := programs.Make()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(bin) })
	config := cluster.Config{Nodes: nodeCount, Share: []string{bin}}
	require.NoError(t, cluster.With(t.Context(), bin, config, func(c *cluster.Cluster, _ string) error {
		missed := blow{strike: func(*cell) error { return errors.New("missed") }}
		cell := &cell{ctx: t.Context(), cluster: c, golaunch: filepath.Join(bin, "golaunch"), native: bin, allowance: unhurried, lostAfter: calm, blow: missed, phase: steady, way: overSSH}
		_, err := cell.run(unhurried)
		require.ErrorContains(t, err, "missed\ngolaunch's standard error: ")
		require.NotNil(t, cell.job.Cmd.ProcessState, "golaunch's end was awaited")
		_, _, err = cell.job.AwaitNothing(time.Now(), unhurried)
		return err
	}))
}

func everyCell(t *testing.T, c *cluster.Cluster, bin, way string, columns []phase, starting []string) {
	for _, b := range blows() {
		for _, column := range columns {
			p, there := b.in(way, column)
			if !there || p == startUp && !slices.Contains(starting, b.name) {
				continue
			}
			t.Run(fmt.Sprintf("%s, %v", b.name, p), func(t *testing.T) {
				if lacks(bin, p) {
					t.Skip("skipped: pmixclient was not built; apt-get install libpmix-dev")
				}
				// The command measures the time: this machine may be busy.
				cell := &cell{ctx: t.Context(), cluster: c, golaunch: filepath.Join(bin, "golaunch"), native: bin, allowance: unhurried, lostAfter: calm, blow: b, phase: p, way: way}
				_, err := cell.run(unhurried)
				require.NoError(t, err)
			})
		}
	}
}

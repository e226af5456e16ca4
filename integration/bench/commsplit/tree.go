package commsplit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/programs"
)

// treeRanks are on each node.
const treeRanks = 16

// onTree measures splits and look-ups on a test cluster.
func onTree(ctx context.Context, page *strings.Builder, s settings) error {
	built, err := programs.Make()
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	head(page, s, "Splits and look-ups on the tree", fmt.Sprintf("%d runs", s.Runs))
	if err := agentTable(page, s.Runs); err != nil {
		return err
	}
	fmt.Fprintf(page, `
## By the clock

%d ranks of libgolaunch on each node of a test cluster on this machine, degree 8, microseconds
as rank 0 sees them: a split into one communicator and its freeing, sorted
by the agents, with keys in any order and in the ranks' order; the same where every rank
gathers all keys, sorts them and names all members. Then the look-up of members, most on other
nodes: asked there, and from the agent's memory.

| nodes | ranks | any order | in order | gathered | look-up asked | look-up remembered |
|---|---|---|---|---|---|---|
`, treeRanks)
	config := cluster.Config{Nodes: slices.Max(s.nodes), Share: []string{built}}
	return cluster.With(ctx, built, config, func(c *cluster.Cluster, _ string) error {
		for _, nodes := range s.nodes {
			cmd := c.CommandContext(ctx, cluster.Head, filepath.Join(built, "golaunch"), "-f", c.HostFile(), "--ssh-config", c.SSHConfig(),
				"-n", fmt.Sprint(nodes*treeRanks), "-N", fmt.Sprint(treeRanks), "--degree", "8", filepath.Join(built, "treesplit"), "-t", "2")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("treesplit on %d nodes: %w: %s", nodes, err, stderr.String())
			}
			fmt.Fprintf(page, "| %d | %s |\n", nodes, strings.Join(strings.Fields(string(out)), " | "))
		}
		return nil
	})
}

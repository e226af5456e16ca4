// Command switches has ranks below the same switches find each other: run it with
// "golaunch --topology FILE -f hosts switches". At each depth of the network the world
// is split by switch cluster, and the lowest rank of each communicator prints its
// members:
//
//	depth 2: 2 clusters
//	depth 2: ranks 0 1 2 3
//	depth 2: ranks 4 5 6 7
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/golaunch/golaunch/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "switches:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	job, err := client.Open(ctx)
	if err != nil {
		return err
	}
	defer job.Close()
	if job.NetworkDepth() == 0 && job.Rank() == 0 {
		fmt.Println("no network is known; name it with golaunch --topology")
	}
	for depth := 1; depth <= job.NetworkDepth(); depth++ {
		if err := show(ctx, job, depth); err != nil {
			return fmt.Errorf("rank %d: depth %d: %w", job.Rank(), depth, err)
		}
	}
	return nil
}

// show splits the world at a depth, and prints who is together.
func show(ctx context.Context, job *client.Client, depth int) error {
	mine, err := job.SwitchCluster(ctx, job.Rank(), depth)
	if err != nil {
		return err
	}
	near, err := job.World().Split(ctx, mine, job.Rank())
	if err != nil {
		return err
	}
	all := make([]int, near.Size())
	if err := client.Gather(ctx, near, 0, []int{job.Rank()}, all); err != nil {
		return err
	}
	if job.Rank() == 0 {
		plural := "s"
		if job.SwitchClusters(depth) == 1 {
			plural = ""
		}
		fmt.Printf("depth %d: %d cluster%s\n", depth, job.SwitchClusters(depth), plural)
	}
	if near.Rank() == 0 {
		var members strings.Builder
		for _, rank := range all {
			// Every rank can be asked for.
			theirs, err := job.SwitchCluster(ctx, rank, depth)
			if err != nil {
				return err
			}
			if theirs != mine {
				return fmt.Errorf("rank %d is in cluster %d, not %d", rank, theirs, mine)
			}
			fmt.Fprintf(&members, " %d", rank)
		}
		fmt.Printf("depth %d: ranks%s\n", depth, &members)
	}
	return near.Free(ctx)
}

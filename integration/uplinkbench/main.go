// Command uplinkbench measures what operations of the tree put on the links between two
// leaf switches of a test cluster, and how long they take, with and without a network
// named to golaunch, and writes docs/results/tree-uplink.md. Hosts are listed
// alternately from both switches.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// rankWord is the first argument of this program as a rank.
const rankWord = "rank"

// The cluster: two leaf switches with four hosts each.
var shape = cluster.Config{Nodes: 8, Switches: cluster.Switches{Count: 2, Hosts: 4}, Uplink: 100e6, Edge: 1e9}

// network is the cluster's, in the form of Slurm's topology.conf.
const network = "SwitchName=s1 Nodes=n[001-004]\nSwitchName=s2 Nodes=n[005-008]\nSwitchName=s0 Switches=s[1-2]\n"

// listed are the hosts, alternately from both switches.
const listed = "n001,n005,n002,n006,n003,n007,n004,n008"

func main() {
	if len(os.Args) > 1 && os.Args[1] == rankWord {
		if err := rank(); err != nil {
			fmt.Fprintln(os.Stderr, "uplinkbench:", err)
			os.Exit(1)
		}
		return
	}
	results.Main("uplinkbench", bench)
}

func bench(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("uplinkbench", flag.ContinueOnError)
	runs := f.Int("runs", 5, "alternating runs with and without the network")
	out := f.String("o", "docs/results/tree-uplink.md", "`file` to write")
	if err := results.Parse(f, args); err != nil {
		return err
	}
	if *runs < 1 {
		return fmt.Errorf("-runs %d: expected 1 or more", *runs)
	}
	built, err := programs.Make()
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	program, err := os.Executable()
	if err != nil {
		return err
	}
	conf := filepath.Join(built, "topology.conf")
	if err := os.WriteFile(conf, []byte(network), 0o644); err != nil {
		return err
	}
	config := shape
	config.Share = []string{built, program}
	var all []reading
	err = cluster.With(ctx, built, config, func(c *cluster.Cluster, _ string) error {
		b := &job{cluster: c, golaunch: filepath.Join(built, "golaunch"), program: program}
		for range *runs {
			for _, s := range settings() {
				for _, topology := range []string{"none", conf} {
					more, err := b.run(ctx, s, topology)
					if err != nil {
						return fmt.Errorf("%d ranks on a host, degree %d, --topology %s: %w", s.each, s.degree, topology, err)
					}
					all = append(all, more...)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return results.Write(*out, page(*runs, all))
}

// setting is one kind of job.
type setting struct{ each, degree int } // ranks on a host; degree of the tree

func settings() []setting { return []setting{{1, 8}, {1, 2}, {4, 8}} }

// reading is what one operation took in one run, on average.
type reading struct {
	setting
	network bool
	what    operation
	bytes   float64 // over the uplinks
	seconds float64 // on the slowest rank
}

// job runs jobs on the cluster.
type job struct {
	cluster           *cluster.Cluster
	golaunch, program string
}

// run runs all operations in one job. Its rank 0 says when it is about to begin one, and
// when all ranks are done with it; it goes on with each line that it reads.
func (b *job) run(ctx context.Context, s setting, topology string) (all []reading, err error) {
	cmd := b.cluster.CommandContext(ctx, cluster.Head, b.golaunch, "-H", listed, "--ssh-config", b.cluster.SSHConfig(), "-N", fmt.Sprint(s.each),
		"-n", fmt.Sprint(8*s.each), "--degree", fmt.Sprint(s.degree), "--topology", topology, "--timeout", "120", b.program, rankWord)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	said := bufio.NewScanner(out)
	next := func() (uint64, error) {
		if !said.Scan() {
			return 0, fmt.Errorf("the job ended too soon")
		}
		return b.cluster.UplinkBytes()
	}
	for _, o := range operations() {
		var before, after uint64
		if before, err = next(); err != nil {
			break
		}
		if _, err = io.WriteString(in, "begin\n"); err != nil {
			break
		}
		if after, err = next(); err != nil {
			break
		}
		r := reading{setting: s, network: topology != "none", what: o, bytes: float64(after-before) / float64(o.rounds)}
		if _, err = fmt.Sscan(said.Text(), &r.seconds); err != nil {
			break
		}
		all = append(all, r)
		if _, err = io.WriteString(in, "next\n"); err != nil {
			break
		}
	}
	in.Close()
	if werr := cmd.Wait(); err == nil {
		err = werr
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return all, nil
}

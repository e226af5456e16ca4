// Command stencilbench runs a stencil program of MPICH on a test cluster of two
// switches, with its ranks in the default order and where golaunch maps them by its
// communication graph, in turn, and writes docs/results/stencil.md.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// The cluster: two leaf switches with four nodes each, on one core.
const (
	leaves, perLeaf = 2, 4
	uplink          = 100e6 // bit/s
	edge            = 1e9
	network         = "fattree:4,2/1,1/1,1"
)

// The job: an open grid of ranks on hosts that are listed out of order.
const (
	grid    = "2x4x4"
	ranks   = 32
	perHost = 8
	face    = 256 << 10 // bytes
)

var hosts = []int{1, 5, 6, 2}

// settings say what is measured.
type settings struct {
	runs, rounds int
	out          string
}

func main() { results.Main("stencilbench", run) }

func run(ctx context.Context, args []string) error {
	s := settings{}
	f := flag.NewFlagSet("stencilbench", flag.ContinueOnError)
	f.IntVar(&s.runs, "runs", 5, "runs of each way, in turn")
	f.IntVar(&s.rounds, "rounds", 10, "exchanges that are timed in each run")
	f.StringVar(&s.out, "o", "", "write to `FILE`; else to standard output")
	if err := results.Parse(f, args); err != nil {
		return err
	}
	if s.runs < 1 || s.rounds < 1 {
		return errors.New("-runs and -rounds are at least 1")
	}
	built, err := programs.Make()
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	read := map[string][]reading{}
	config := cluster.Config{Nodes: leaves * perLeaf, Switches: cluster.Switches{Count: leaves, Hosts: perLeaf}, Uplink: uplink, Edge: edge, Share: []string{built}}
	err = cluster.With(ctx, built, config, func(c *cluster.Cluster, dir string) error {
		names, err := mapFile(dir)
		if err != nil {
			return err
		}
		for range s.runs {
			for _, w := range ways {
				r, err := measure(ctx, c, built, s.rounds, w.flags(names))
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				read[w.name] = append(read[w.name], r)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return results.Write(s.out, page(s, read))
}

// way is a way to place the ranks.
type way struct {
	name string
	more []string // flags; nil for the default order
}

var ways = []way{
	{"default order", nil},
	{"mapped by the graph", []string{"--map-by", "comm:cart:" + grid}},
}

// flags are those of a way where a file names the places of the nodes.
func (w way) flags(names string) []string {
	if w.more == nil {
		return nil
	}
	return append([]string{"--topology", network, "--map", names}, w.more...)
}

// mapFile says which host of the network each node is.
func mapFile(dir string) (string, error) {
	var b strings.Builder
	for i := range leaves * perLeaf {
		fmt.Fprintf(&b, "%s h%d\n", cluster.NodeName(i+1), i)
	}
	file := filepath.Join(dir, "map")
	return file, os.WriteFile(file, []byte(b.String()), 0o644)
}

// reading is what the rounds of one run took.
type reading struct {
	seconds float64
	bytes   float64 // from the switches to the core
}

// measure runs the stencil once. Rank 0 waits while the counters are read.
func measure(ctx context.Context, c *cluster.Cluster, built string, rounds int, flags []string) (r reading, err error) {
	list := make([]string, len(hosts))
	for i, h := range hosts {
		list[i] = fmt.Sprintf("%s:%d", cluster.NodeName(h), perHost)
	}
	argv := append([]string{filepath.Join(built, "golaunch"), "-H", strings.Join(list, ","), "--ssh-config", c.SSHConfig(), "-n", strconv.Itoa(ranks)}, flags...)
	argv = append(argv, filepath.Join(built, "mpistencil"))
	argv = append(argv, strings.Split(grid, "x")...)
	cmd := c.CommandContext(ctx, cluster.Head, append(argv, strconv.Itoa(face), strconv.Itoa(rounds))...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return r, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	said := bufio.NewScanner(out)
	begin, _, err := step(c, said, in, "ready")
	if err == nil {
		var end uint64
		end, r.seconds, err = step(c, said, in, "seconds")
		r.bytes = float64(end - begin)
	}
	_ = in.Close() // rank 0 ends if it waits still
	for said.Scan() {
		err = errors.Join(err, fmt.Errorf("unexpected line %q", said.Text()))
	}
	if ended := cmd.Wait(); ended != nil {
		err = errors.Join(err, ended)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return r, err
}

// step awaits a word of rank 0, which may have a number, reads the counter and lets
// rank 0 go on.
func step(c *cluster.Cluster, said *bufio.Scanner, in io.Writer, word string) (bytes uint64, number float64, err error) {
	if !said.Scan() {
		return 0, 0, fmt.Errorf("rank 0 has not said %q", word)
	}
	first, rest, _ := strings.Cut(said.Text(), " ")
	if first != word {
		return 0, 0, fmt.Errorf("rank 0 said %q, not %q", said.Text(), word)
	}
	if rest != "" {
		if number, err = strconv.ParseFloat(rest, 64); err != nil {
			return 0, 0, err
		}
	}
	if bytes, err = c.UplinkBytes(); err == nil {
		_, err = io.WriteString(in, "\n")
	}
	return bytes, number, err
}

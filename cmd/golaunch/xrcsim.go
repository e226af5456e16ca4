package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/xrcsim"
	"github.com/golaunch/golaunch/xrcsim/workload"
)

// Bounds of xrcsim's work.
const (
	maxXrcRows  = 4096
	maxXrcRanks = 1 << 25 // of all jobs together: at most, some minutes
	maxBuffers  = 1 << 20
)

// xrcsimFlags are the flags of xrcsim.
type xrcsimFlags struct {
	nodes, ppn    []int
	workloads     []string
	transports    string
	inside        string
	connect       string
	noCollectives bool
	parameters    xrcsim.Parameters
	format        string
}

const xrcsimUsage = "xrcsim [FLAG]..."

// xrcsimHead stands before the flags in the help of xrcsim.
func xrcsimHead() string {
	return `Tells how many InfiniBand queue pairs the processes of an MPI job need, and what
memory these take, by transport. No job is run: connections are counted from who
communicates with whom, ranks being on nodes in blocks.

  rc      a queue pair for each peer
  xrc     one for each node with peers; receive-only ones at these nodes
  ud      one for all
  hybrid  one for each peer that gets more than sixteen messages
  dc      a few that change their target

A workload is a word or a file with a communication graph, as --profile writes and
--map-by reads it:

  npb, npb:ft, npb:ft:D      the NAS Parallel Benchmarks, class B or another
  cart:8x8x8, cart:3d:periodic:26
                             a stencil, of a size or for any number of ranks
  alltoall, random:16, none

What MPI_Init and small collective operations connect is added to each.

  golaunch xrcsim --nodes 8 --ppn 8 --workload npb
  golaunch xrcsim --nodes 128,1024,8192,65536 --ppn 16 --transport rc,xrc,dc
  golaunch xrcsim --inside network --connect static
  golaunch xrcsim --workload graph.txt --ppn 4,8,16 --format json
`
}

// setupXrcsim sets up the command that counts connections.
func setupXrcsim() (*pflag.FlagSet, action) {
	t := &xrcsimFlags{transports: "rc,xrc", format: "text", parameters: xrcsim.Default()}
	p := &t.parameters
	t.inside, t.connect = string(p.Inside), string(p.Connect)
	size := func(p *int) pflag.Value { return flags.Count(p, 1, workload.MaxRanks) }
	f := flags.New("xrcsim")
	f.SetInterspersed(true) // all words are its own
	f.Var(flags.Numbers(&t.nodes, size), "nodes", "`N` nodes, or several numbers, 8,64; else 8, or what a workload needs")
	f.Var(flags.Numbers(&t.ppn, size), "ppn", "`N` ranks on each node, or several numbers; else 8")
	f.Var(flags.List(&t.workloads), "workload", "who communicates with whom: `WHAT`, as above; else alltoall")
	f.Var(flags.Text(&t.transports), "transport", "`LIST` of "+strings.Join(transportNames(), ", "))
	f.Var(flags.OneOf(&t.inside, insideNames()), "inside", "within a node, by `WAY`: "+strings.Join(insideNames(), ", "))
	f.Var(flags.OneOf(&t.connect, connectNames()), "connect", "connect `WHEN`: "+strings.Join(connectNames(), ", "))
	f.BoolVar(&t.noCollectives, "no-collectives", false, "leave out what MPI_Init and small collective operations connect")
	f.Var(flags.Size(&p.QueuePair), "qp-bytes", "`BYTES` of a queue pair that sends")
	f.Var(flags.Size(&p.ReceiveOnly), "receive-only-bytes", "`BYTES` of a receive-only one")
	f.Var(flags.Count(&p.Buffers, 1, maxBuffers), "buffers", "`N` receive buffers of each process")
	f.Var(flags.Size(&p.BufferBytes), "buffer-bytes", "`BYTES` of such a buffer")
	f.Var(flags.Count(&p.Initiators, 1, maxBuffers), "dci", "dc: `N` queue pairs by which a process sends")
	f.Var(flags.Text(&t.format), "format", "print as `FORMAT`: "+strings.Join(netsimFormats(), ", "))
	flags.Describe(f, "workload", flags.Repeats)
	flags.Describe(f, "workload", flags.IsFile)
	flags.Describe(f, "inside", flags.Choices(insideNames()...))
	flags.Describe(f, "connect", flags.Choices(connectNames()...))
	flags.Describe(f, "format", flags.Choices(netsimFormats()...))
	return f, parsed("xrcsim", f, t.run)
}

func transportNames() []string { return flags.Texts(xrcsim.Transports()) }

func insideNames() []string {
	return []string{string(xrcsim.SharedMemory), string(xrcsim.Network)}
}

func connectNames() []string { return []string{string(xrcsim.OnDemand), string(xrcsim.Static)} }

// run counts and prints.
func (t *xrcsimFlags) run(e env, words []string) (int, error) {
	if len(words) > 0 {
		return 0, fmt.Errorf("%q is one word too many; it takes flags alone, such as --workload %s", words[0], words[0])
	}
	if !slices.Contains(netsimFormats(), t.format) {
		return 0, fmt.Errorf("--format: %q is none; say %s", t.format, strings.Join(netsimFormats(), ", "))
	}
	transports, err := t.chosen()
	if err != nil {
		return 0, err
	}
	t.parameters.Inside, t.parameters.Connect = xrcsim.Inside(t.inside), xrcsim.Connect(t.connect)
	sources, err := t.sources(e.stdio.Stderr)
	if err != nil {
		return 0, err
	}
	jobs, err := t.jobs(sources, len(transports))
	if err != nil {
		return 0, err
	}
	c := &connected{Format: xrcsim.Format, Version: 1, Parameters: t.parameters, Collectives: !t.noCollectives}
	for _, j := range jobs {
		points, err := t.count(j, transports)
		if err != nil {
			return 0, err
		}
		c.add(points)
	}
	if t.format == "json" {
		return e.printJSON(c)
	}
	return e.print(c.text())
}

// chosen are the transports that are counted.
func (t *xrcsimFlags) chosen() ([]xrcsim.Transport, error) {
	var list []xrcsim.Transport
	for name := range strings.SplitSeq(t.transports, ",") {
		x := xrcsim.Transport(strings.ToLower(name))
		switch {
		case !slices.Contains(xrcsim.Transports(), x):
			return nil, fmt.Errorf("--transport: %q is none; say a list of %s", name, strings.Join(transportNames(), ", "))
		case slices.Contains(list, x):
			return nil, fmt.Errorf("--transport: %s is there twice", x)
		}
		list = append(list, x)
	}
	return list, nil
}

// sources are the workloads. Warnings about a graph go to w.
func (t *xrcsimFlags) sources(w io.Writer) ([]workload.Source, error) {
	if len(t.workloads) == 0 {
		t.workloads = []string{"alltoall"}
	}
	var all []workload.Source
	for _, text := range t.workloads {
		if workload.Is(text) {
			list, err := workload.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("--workload: %w", err)
			}
			all = append(all, list...)
			continue
		}
		var file *commgraph.File
		err := files.Read(w, text, func(r io.Reader) (err error) {
			file, err = profile.ReadGraph(r, text)
			return err
		})
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w; words are such as %s", err, strings.Join(workload.Examples(), ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("--workload: %w", err)
		}
		for _, note := range file.Notes {
			fmt.Fprintf(w, "golaunch: workload %s: %s\n", text, note)
		}
		g := file.Graph
		if _, ok := g.Star(); ok {
			fmt.Fprintf(w, "golaunch: workload %s: it is counted without these edges: an MPI library's collective operations connect other pairs\n", text)
			g = g.WithoutStar()
		}
		all = append(all, workload.FromGraph(text, g))
	}
	return all, nil
}

// xrcJob is a job to count.
type xrcJob struct {
	xrcsim.Job
	source workload.Source
}

// jobs are those of all workloads, numbers of ranks per node, and of nodes.
func (t *xrcsimFlags) jobs(sources []workload.Source, transports int) ([]xrcJob, error) {
	ascending := func(numbers []int) []int {
		if len(numbers) == 0 {
			return []int{8}
		}
		return slices.Compact(slices.Sorted(slices.Values(numbers)))
	}
	nodes, ppns := ascending(t.nodes), ascending(t.ppn)
	if rows := len(sources) * len(ppns) * len(nodes) * transports; rows > maxXrcRows {
		return nil, fmt.Errorf("%d rows; ask for at most %d with --workload, --nodes, --ppn and --transport", rows, maxXrcRows)
	}
	var list []xrcJob
	total := 0
	seen := map[string]bool{}
	for _, s := range sources {
		if seen[s.Name] {
			return nil, fmt.Errorf("--workload: %s is there twice", s.Name)
		}
		seen[s.Name] = true
		for _, ppn := range ppns {
			sizes := make([]int, len(nodes))
			for i, n := range nodes {
				sizes[i] = n * ppn
			}
			if s.Ranks > 0 {
				need := (s.Ranks + ppn - 1) / ppn
				if len(t.nodes) > 0 && (len(nodes) > 1 || nodes[0] != need) {
					return nil, fmt.Errorf("--nodes: workload %s has %s, which are %s of %d; leave --nodes out", s.Name, count(s.Ranks, "rank"), count(need, "node"), ppn)
				}
				sizes = []int{s.Ranks}
			}
			for i, ranks := range sizes {
				j, err := xrcsim.NewJob(ranks, ppn)
				if err != nil {
					return nil, fmt.Errorf("--nodes %d, --ppn %d: %w", nodes[i], ppn, err)
				}
				total += ranks
				list = append(list, xrcJob{j, s})
			}
		}
	}
	if total > maxXrcRanks {
		return nil, fmt.Errorf("%d ranks in all jobs together; ask for at most %d with --workload, --nodes and --ppn", total, maxXrcRanks)
	}
	return list, nil
}

// count has a point for each transport.
func (t *xrcsimFlags) count(j xrcJob, transports []xrcsim.Transport) ([]xrcsim.Point, error) {
	peers, err := j.source.Peers(j.Ranks)
	if err != nil {
		return nil, err
	}
	w := xrcsim.Workload{Name: j.source.Name, Program: peers, Setup: workload.Collectives(j.Ranks)}
	if t.noCollectives {
		w.Setup = workload.Nobody
	}
	return xrcsim.Count(j.Job, w, t.parameters, transports)
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/launcher/pingpong"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology/match"
	"github.com/golaunch/golaunch/network/topology/measure"
)

// maxMeasured bounds the pairs that are measured, one after the other.
const maxMeasured = 4096

// maxPrinted bounds the output of the ranks of a pair, in bytes.
const maxPrinted = 64 << 10

// measure tells latency and bandwidth between hosts for each distance in the
// network, or of all if no network is given.
func (t *topoFlags) measure(e env, _ []string) (int, error) {
	if t.format == "dot" {
		return 0, errNoPicture
	}
	var n *network
	report := measure.Report{Network: t.topology}
	if t.topology != "" {
		var err error
		if n, err = t.loadText(e); err != nil {
			return 0, err
		}
	} else if t.tables != "" || t.mapFile != "" {
		return 0, errors.New("--tables and --map are of use with --topology only")
	}
	if t.from != "" {
		if n == nil && (len(t.hosts) > 0 || t.hostfile != "") {
			return 0, errors.New("--from: the file says which hosts were measured; leave --hosts and --hostfile out")
		}
		if err := t.once(); err != nil {
			return 0, err
		}
		err := files.Read(e.stdio.Stderr, t.from, func(r io.Reader) (err error) {
			report.Samples, err = measure.Parse(r, t.from)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("--from: %w", err)
		}
	} else {
		var status int
		var err error
		if report.Samples, status, err = t.runPairs(e, n); err != nil || status != 0 {
			return status, err
		}
	}
	var hops func(from, to string) (int, error)
	if n != nil {
		hops = n.hopsOf
	}
	var err error
	if report.Levels, err = measure.Levels(report.Samples, hops); err != nil {
		return 0, err
	}
	if t.format == "json" {
		return e.printJSON(report)
	}
	return e.print(levelsText(report.Levels))
}

// hopsOf counts the switches between two hosts, by name.
func (n *network) hopsOf(from, to string) (int, error) {
	if from == "" {
		return 0, errors.New("a table does not say between which hosts it was measured; put a line '# hosts: A B' before it, or leave --topology out")
	}
	a, err := n.find(from)
	if err != nil {
		return 0, err
	}
	b, err := n.find(to)
	if err != nil {
		return 0, err
	}
	steps, err := n.router.Append(nil, a, b)
	return routing.Hops(steps), err
}

// runPairs measures between the chosen hosts, in a job of its own.
func (t *topoFlags) runPairs(e env, n *network) ([]measure.Sample, int, error) {
	hosts, hops, err := t.measured(e, n)
	if err != nil {
		return nil, 0, err
	}
	if len(hosts) < 2 {
		return nil, 0, fmt.Errorf("%s: a measurement needs two or more; name them with --hosts or --hostfile, or read one with --from", count(len(hosts), "host"))
	}
	pairs, err := measure.Choose(len(hosts), t.pairs, t.seed, hops)
	if err != nil {
		return nil, 0, err
	}
	if len(pairs) > maxMeasured {
		return nil, 0, fmt.Errorf("%d pairs: at most %d can be measured; ask for less with --pairs", len(pairs), maxMeasured)
	}
	o, err := pairsJob(hosts, pairs)
	if err != nil {
		return nil, 0, err
	}
	out := boundedBuffer{most: len(pairs) * maxPrinted}
	stdio := e.stdio
	stdio.Stdin, stdio.Stdout = nil, &out
	if status := e.launch(e.ctx, o, stdio); status != 0 {
		return nil, status, nil
	}
	if out.over {
		return nil, 0, fmt.Errorf("what the ranks print is wrong: it is more than %d bytes for %s", out.most, count(len(pairs), "pair"))
	}
	samples, err := printedSamples(&out.Buffer, hosts)
	return samples, 0, err
}

// pairsJob returns the job that measures: rank i runs on host i, its lines are read
// here, and most ranks just wait for others. Variables set the way to reach hosts;
// those that send ranks or their lines elsewhere do not count.
func pairsJob(hosts []job.Host, pairs [][2]int) (o launcher.Options, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("own executable: %w", err)
	}
	words := []string{"-n", strconv.Itoa(len(hosts)), "--ppn", "1", "--stage", self, "--stdin", "none", "--mpi", "none", self}
	m := machine.Here(os.Stderr)
	held, err := holdOwn(append(words, pingpong.Args(pairs, hostNames(hosts))...), m)
	if err != nil {
		return o, err
	}
	settled, err := held.SettleNowhere(m)
	if err != nil {
		return o, err
	}
	o = settled.Options(m)
	o.Hosts.List, o.Hosts.Nodes, o.Hosts.Spares, o.Hosts.AllowDeadNodes, o.Hosts.Prelaunch = hosts, 0, 0, false, false
	o.Output.Label, o.Output.OutPattern, o.Output.ErrPattern, o.Report.DryRun, o.Ending.KeepGoing, o.Start.StallAfter = "", "", "", false, false, 0
	o.Output.Fold, o.Ending.Restarts, o.Output.LogDir, o.Output.Show, o.Launch.Unbuffered = false, 0, "", "", false
	for _, file := range []*string{&o.Report.File, &o.Report.TraceFile, &o.Report.ProfileFile} {
		if *file == "-" { // the place of the ranks' lines
			*file = ""
		}
	}
	return o, nil
}

// printedSamples reads the ranks' output. Hosts take the places of ranks.
func printedSamples(out io.Reader, hosts []job.Host) (samples []measure.Sample, err error) {
	for lines := json.NewDecoder(out); ; {
		var s measure.Sample
		err := lines.Decode(&s)
		if err == io.EOF && len(samples) > 0 {
			return samples, nil
		}
		if err != nil {
			return nil, fmt.Errorf("what the ranks print is wrong: %w", err)
		}
		for _, rank := range []*string{&s.From, &s.To} {
			i, err := strconv.Atoi(*rank)
			if err != nil || i < 0 || i >= len(hosts) {
				return nil, fmt.Errorf("what the ranks print is wrong: rank %q", *rank)
			}
			*rank = hosts[i].Name
		}
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("what the ranks print is wrong: %w", err)
		}
		samples = append(samples, s)
	}
}

// boundedBuffer keeps the first most bytes, and notes whether there were more.
type boundedBuffer struct {
	bytes.Buffer
	most int
	over bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.most-b.Len())]
	b.over = b.over || len(kept) < len(p)
	b.Buffer.Write(kept)
	return len(p), nil
}

// measured returns the hosts to measure between, which flags or a resource manager
// name, and the distance of any two.
func (t *topoFlags) measured(e env, n *network) (hosts []job.Host, hops func(i, j int) (int, error), err error) {
	var named []job.Host
	if n == nil || n.found == nil {
		m := machine.Here(e.stdio.Stderr)
		file, err := cmdline.Named(t.hosts, t.hostfile, m)
		if named = file.Hosts; err == nil && len(named) == 0 {
			named, err = cmdline.Allocated(m, teller(e.stdio.Stderr, cmdline.Held{}))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if n != nil {
		if n.found == nil {
			n.hosts = named
			if n.found, err = match.Hosts(n.Graph, hostNames(named), n.names); err != nil {
				return nil, nil, err
			}
			n.warn(e.stdio.Stderr)
		}
		named = nil
		_, of := n.chosen()
		for _, i := range of {
			named = append(named, n.hosts[i])
		}
	}
	seen := map[string]bool{}
	for _, h := range named {
		if !seen[h.Name] {
			seen[h.Name] = true
			hosts = append(hosts, h)
		}
	}
	return hosts, func(i, j int) (int, error) {
		if n == nil {
			return 0, nil
		}
		return n.hopsOf(hosts[i].Name, hosts[j].Name)
	}, nil
}

// levelsText renders a table of levels.
func levelsText(levels []measure.Level) string {
	var b strings.Builder
	flat := false
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "hops\ttest\tpairs\tlatency us\tbandwidth MB/s\tr2\t")
	for _, l := range levels {
		hops, bandwidth := "all", "none"
		if l.Hops != nil {
			hops = strconv.Itoa(*l.Hops)
		}
		if l.Bandwidth > 0 {
			bandwidth = fmt.Sprintf("%.2f", l.Bandwidth)
		} else {
			flat = true
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%.2f\t%s\t%.4f\t\n", hops, l.Test, l.Pairs, l.Latency, bandwidth, l.R2)
	}
	w.Flush()
	if flat {
		b.WriteString("none: the times do not grow with the size of messages\n")
	}
	return b.String()
}

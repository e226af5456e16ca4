// Package pmgr measures start-up over PMGR (figure 2.6 of
// [Sridhar]) on a test cluster of this machine: over golaunch's server at every node,
// over PMI in the same rounds, and over one server that every rank connects to,
// as MVAPICH 1 had it; and writes docs/results/pmgr.md.
package pmgr

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// Limits of the central server, as they were when it was in use.
const (
	backlog     = 128  // connections that wait to be taken: net.core.somaxconn
	descriptors = 1024 // open files
)

// jobLimit is the time after which a job counts as one that hangs.
const jobLimit = 30 * time.Second

// settings choose the measurements.
type settings struct {
	nodes, degree int
	ranks         []int
	results.Frame
}

func parse(f *results.Flags) (settings, error) {
	s := settings{}
	f.Runs = 3
	f.IntVar(&s.nodes, "nodes", 32, "number of nodes")
	f.IntVar(&s.degree, "degree", 8, "degree of the tree")
	ranks := f.String("ranks", "64,128,256,512,1024", "`LIST` of numbers of ranks")
	if err := f.Parse(); err != nil {
		return s, err
	}
	var err error
	if s.ranks, err = results.Numbers("ranks", *ranks, 2); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	if s.nodes < 1 || s.degree < 1 {
		return s, errors.New("-nodes and -degree are at least 1")
	}
	return s, nil
}

// Run measures and writes the page of it.
func Run(ctx context.Context, f *results.Flags) error {
	s, err := parse(f)
	if err != nil {
		return err
	}
	var readings map[int][ways][]reading
	err = programs.OnCluster(ctx, s.nodes, func(c *cluster.Cluster, built string) error {
		readings, err = (&bench{c, built, s}).measure(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return s.Write(page(s, readings))
}

// way is a way for ranks to start up.
type way int

const (
	overPMGR way = iota
	overPMI
	overCentral // a server of the limits of its time
	overCentralNow
	ways
)

// reading is one job: seconds until the last rank began, and from then until the last
// was through; or the reason that it never was.
type reading struct {
	spawn, init float64
	failed      string
	load        load
}

// load counts the traffic of the central server, or of the links of the busiest agent.
type load struct{ bytes, messages float64 }

type bench struct {
	cluster *cluster.Cluster
	built   string
	settings
}

// measure runs every way in turn.
func (b *bench) measure(ctx context.Context) (map[int][ways][]reading, error) {
	all := map[int][ways][]reading{}
	for _, n := range b.ranks {
		of := all[n]
		for range b.Runs {
			for w := range ways {
				r, err := b.job(ctx, n, w)
				if err != nil {
					return nil, err
				}
				of[w] = append(of[w], r)
			}
		}
		all[n] = of
	}
	return all, nil
}

// job runs one.
func (b *bench) job(ctx context.Context, n int, w way) (r reading, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobLimit)
	defer cancel()
	argv := []string{filepath.Join(b.built, "golaunch"), "-f", b.cluster.HostFile(), "--ssh-config", b.cluster.SSHConfig(), "-q",
		"-n", fmt.Sprint(n), "-N", fmt.Sprint((n + b.nodes - 1) / b.nodes), "--degree", fmt.Sprint(b.degree)}
	report := filepath.Join(b.built, "report.json")
	client := filepath.Join(b.built, "pmgrclient")
	var server *cluster.Cmd
	var said *bufio.Reader // the output of server
	var complaint strings.Builder
	switch w {
	case overPMGR:
		argv = append(argv, "--report", report, "--pmgr", client, "-t")
	case overPMI:
		argv = append(argv, filepath.Join(b.built, "pmistart"))
	default:
		head, err := b.cluster.Node(cluster.Head)
		if err != nil {
			return r, err
		}
		words := []string{filepath.Join(b.built, "pmgrcentral"), fmt.Sprint(n)}
		if w == overCentral {
			words = append(words, fmt.Sprint(backlog), fmt.Sprint(descriptors))
		}
		server = b.cluster.CommandContext(ctx, cluster.Head, words...)
		server.Stderr = &complaint
		out, err := server.StdoutPipe()
		if err != nil {
			return r, err
		}
		if err := server.Start(); err != nil {
			return r, err
		}
		said = bufio.NewReader(out)
		port, err := said.ReadString('\n')
		if err != nil {
			return r, errors.Join(fmt.Errorf("the central server: %w: %s", err, &complaint), server.Wait())
		}
		argv = append(argv, "--pmgr", client, "-t", "-c", fmt.Sprintf("%s:%s", head.Addr, strings.TrimSpace(port)))
	}
	cmd := b.cluster.CommandContext(ctx, cluster.Head, argv...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	begun := float64(time.Now().UnixMicro()) / 1e6
	out, jobErr := cmd.Output()
	if server != nil {
		if jobErr != nil {
			cancel() // it may wait for ranks that will never come
		}
		_, none := fmt.Fscan(said, &r.load.bytes, &r.load.messages)
		serverErr := server.Wait()
		if jobErr != nil { // the server's failure is to be shown
			return reading{failed: reason(serverErr, complaint.String())}, nil
		}
		if none != nil {
			return r, fmt.Errorf("the central server did not say what it did: %w", none)
		}
	}
	if jobErr != nil {
		return r, fmt.Errorf("%v: %w: %s", argv, jobErr, &stderr)
	}
	var last, end float64
	if _, err := fmt.Sscan(string(out), &last, &end); err != nil {
		return r, fmt.Errorf("%v printed %q: %w", argv, out, err)
	}
	if w == overPMGR {
		if r.load, err = busiest(report); err != nil {
			return r, err
		}
	}
	r.spawn, r.init = last-begun, end-last
	return r, nil
}

// busiest returns the load of the agent with most of it, from a job's report.
func busiest(path string) (l load, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return l, err
	}
	var report struct {
		Nodes []struct {
			Streams struct {
				Data struct {
					Sent, Received struct{ Messages, Bytes float64 }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return l, err
	}
	for _, n := range report.Nodes {
		d := n.Streams.Data
		l.bytes = max(l.bytes, d.Sent.Bytes+d.Received.Bytes)
		l.messages = max(l.messages, d.Sent.Messages+d.Received.Messages)
	}
	return l, nil
}

// reason returns the reason that a central server failed.
func reason(err error, says string) string {
	if _, cause, ok := strings.Cut(strings.TrimSpace(says), "pmgrcentral: "); ok {
		return cause
	}
	return fmt.Sprintf("no end within %v (%v)", jobLimit, err)
}

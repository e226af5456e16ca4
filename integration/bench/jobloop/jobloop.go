// Package jobloop runs many small jobs on a test cluster of this machine, one after
// another and several at a time, with golaunch and with Hydra's mpiexec in turn, and
// writes docs/results/job-loop.md: whether each job ended with status 0 and left
// nothing, and its time.
package jobloop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/internal/rivals"
	"github.com/golaunch/golaunch/integration/internal/trial"
	"github.com/golaunch/golaunch/integration/programs"
)

const (
	jobLimit  = time.Minute      // a job that takes longer counts as failed
	leftLimit = 20 * time.Second // remains that stay longer on the nodes after a series count
)

// settings choose the jobs.
type settings struct {
	nodes, ppn     int
	jobs           int // one after another
	crowd, atATime int // jobs several at a time
	program        []string
	results.Frame
	golaunch, config string
	hostFile         string
}

func parse(f *results.Flags) (settings, error) {
	s := settings{}
	f.IntVar(&s.nodes, "nodes", 6, "number of nodes")
	f.IntVar(&s.ppn, "ppn", 2, "ranks per node")
	f.IntVar(&s.jobs, "jobs", 100, "jobs one after another")
	f.IntVar(&s.crowd, "crowd", 24, "jobs several at a time")
	f.IntVar(&s.atATime, "at-a-time", 12, "how many at a time")
	if err := f.ParseLeading(); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	if s.program = f.Args(); len(s.program) == 0 {
		s.program = []string{"/bin/true"}
	}
	if min(s.nodes, s.ppn, s.jobs, s.crowd, s.atATime) < 1 {
		return s, errors.New("every number has to be 1 or more")
	}
	return s, nil
}

// Run runs the jobs and writes the page of them.
func Run(ctx context.Context, f *results.Flags) error {
	s, err := parse(f)
	if err != nil {
		return err
	}
	var all []*series
	err = programs.OnCluster(ctx, s.nodes, func(c *cluster.Cluster, built string) error {
		if err := rivals.GiveKeys(c); err != nil {
			return err
		}
		s.golaunch, s.config, s.hostFile = filepath.Join(built, "golaunch"), c.SSHConfig(), filepath.Join(built, "jobloop-hosts")
		if err := os.WriteFile(s.hostFile, []byte(strings.Join(trial.Everywhere(c)[1:], "\n")+"\n"), 0o644); err != nil {
			return err
		}
		all, err = s.measure(ctx, c)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.Write(s.page(all)); err != nil {
		return err
	}
	for _, one := range all {
		if one.failures() > 0 {
			return fmt.Errorf("%s: %d of %d jobs failed or left something", one.name, one.failures(), len(one.took))
		}
	}
	return nil
}

// launcher is one that is measured.
type launcher struct {
	name string
	argv []string
}

// launchers returns golaunch, and Hydra if it is installed.
func (s *settings) launchers() []launcher {
	ranks := strconv.Itoa(s.nodes * s.ppn)
	list := []launcher{{"golaunch", append([]string{s.golaunch, "--ssh-config", s.config, "-f", s.hostFile, "-n", ranks, "-N", strconv.Itoa(s.ppn)}, s.program...)}}
	if _, err := exec.LookPath("mpiexec.hydra"); err == nil {
		list = append(list, launcher{"mpiexec", append([]string{"mpiexec.hydra", "-launcher", "ssh", "-f", s.hostFile, "-n", ranks, "-ppn", strconv.Itoa(s.ppn)}, s.program...)})
	}
	return list
}

// series has the outcomes of one launcher's jobs.
type series struct {
	name     string
	crowd    bool
	took     []time.Duration // of each job
	all      time.Duration   // of all, where they are a crowd
	statuses map[string]int  // the number of jobs by their end
	left     []string
}

func (x *series) failures() int { return len(x.took) - x.statuses["0"] + len(x.left) }

// measure runs everything.
func (s *settings) measure(ctx context.Context, c *cluster.Cluster) ([]*series, error) {
	list := s.launchers()
	var all []*series
	for _, crowd := range []bool{false, true} {
		for _, l := range list {
			all = append(all, &series{name: l.name, crowd: crowd, statuses: map[string]int{}})
		}
	}
	for _, l := range list { // the first start brings programs into memory
		if out, err := s.job(ctx, c, l); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", l.name, err, out)
		}
	}
	before, err := holdings(c)
	if err != nil {
		return nil, err
	}
	for range s.jobs {
		for i, l := range list {
			all[i].add(s.timed(ctx, c, l))
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if err := before.check(c, all[:len(list)]...); err != nil {
		return nil, err
	}
	for i, l := range list {
		x := all[len(list)+i]
		begin := time.Now()
		places, done := make(chan bool, s.atATime), sync.WaitGroup{}
		var mu sync.Mutex
		for range s.crowd {
			places <- true
			done.Go(func() { // ends with its job
				took, status := s.timed(ctx, c, l)
				<-places
				mu.Lock()
				defer mu.Unlock()
				x.add(took, status)
			})
		}
		done.Wait()
		x.all = time.Since(begin)
		if err := before.check(c, x); err != nil {
			return nil, err
		}
	}
	return all, ctx.Err()
}

func (x *series) add(took time.Duration, status string) {
	x.took = append(x.took, took)
	x.statuses[status]++
}

// timed runs one job and returns its end: its status and, if that is not 0, its last
// words.
func (s *settings) timed(ctx context.Context, c *cluster.Cluster, l launcher) (time.Duration, string) {
	begin := time.Now()
	out, err := s.job(ctx, c, l)
	took := time.Since(begin)
	if err == nil {
		return took, "0"
	}
	words := strings.Fields(out)
	return took, fmt.Sprintf("%v: %s", err, strings.Join(words[max(0, len(words)-12):], " "))
}

func (s *settings) job(ctx context.Context, c *cluster.Cluster, l launcher) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, jobLimit)
	defer cancel()
	out, err := c.CommandContext(ctx, cluster.Head, l.argv...).CombinedOutput()
	return string(out), err
}

// held has the contents of the machines of a cluster: processes, files, mounts,
// cgroups.
type held struct {
	things trial.Holdings
	procs  map[string]bool
}

func holdings(c *cluster.Cluster) (*held, error) {
	procs, err := processes(c)
	if err != nil {
		return nil, err
	}
	things, err := trial.Inventory(c)
	return &held{things, procs}, err
}

// check puts down the remains of jobs since then.
func (h *held) check(c *cluster.Cluster, of ...*series) error {
	begin := time.Now()
	for {
		now, err := processes(c)
		if err != nil {
			return err
		}
		var left []string
		for p := range now {
			if !h.procs[p] {
				left = append(left, p)
			}
		}
		if len(left) == 0 {
			break
		}
		if time.Since(begin) > leftLimit {
			note(of, left...)
			break
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // processes of others: nothing tells of their end
	}
	if err := trial.AwaitNothingHeld(c, h.things, begin, leftLimit); err != nil {
		note(of, err.Error())
	}
	return nil
}

// note puts down remains of one of them: nothing tells of which.
func note(of []*series, left ...string) {
	for _, x := range of {
		x.left = append(x.left, left...)
	}
}

// processes returns those of all machines.
func processes(c *cluster.Cluster) (map[string]bool, error) {
	all := map[string]bool{}
	for _, name := range trial.Everywhere(c) {
		procs, err := c.Processes(name)
		if err != nil {
			return nil, err
		}
		for _, p := range procs {
			all[fmt.Sprintf("%s: %d (%d) %s", name, p.NodePID, p.Start, strings.Join(p.Cmdline, " "))] = true
		}
	}
	return all, nil
}

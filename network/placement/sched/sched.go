package sched

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Job is a job that a user submits.
type Job struct {
	Arrive  float64
	Hosts   int
	Runtime float64 // if its hosts share no link
}

// Started is the schedule of a job.
type Started struct {
	Start, End float64
	Hosts      []int
	Pairs      int // of its hosts that share a link
}

// Cluster is the hosts, and how they are given to jobs.
type Cluster struct {
	Link []int32 // of each host, as Select has it
	// Slowdown is the share of its runtime that a job takes longer if any two of its
	// hosts share a link: 0.15 or 0.21 [Subramoni 6.1, figure 8.2].
	Slowdown float64
	Select   Select
}

// Run gives hosts to jobs in the order of their arrival. Where the first in the queue
// has to wait, those behind it are started if that does not delay it (backfill), by the
// longest that they may run. It returns one Started for each job. The error names a job
// that can never run.
func (c *Cluster) Run(jobs []Job) ([]Started, error) {
	if !(c.Slowdown >= 0) || math.IsInf(c.Slowdown, 1) {
		return nil, fmt.Errorf("slowdown of %v: expected 0 or more", c.Slowdown)
	}
	for i, j := range jobs {
		switch {
		case j.Hosts < 1 || j.Hosts > len(c.Link):
			return nil, fmt.Errorf("job %d wants %d hosts: expected 1 to %d", i, j.Hosts, len(c.Link))
		case !(j.Arrive >= 0 && j.Runtime > 0) || math.IsInf(j.Arrive+j.Runtime, 1):
			return nil, fmt.Errorf("job %d arrives at %v and runs for %v s: expected times from 0", i, j.Arrive, j.Runtime)
		}
	}
	r := &run{Cluster: c, jobs: jobs, free: make([]bool, len(c.Link)), out: make([]Started, len(jobs))}
	for h := range r.free {
		r.free[h] = true
	}
	arriving := make([]int, len(jobs))
	for i := range jobs {
		arriving[i] = i
	}
	slices.SortStableFunc(arriving, func(a, b int) int { return cmp.Compare(jobs[a].Arrive, jobs[b].Arrive) })
	for len(arriving)+len(r.queue) > 0 {
		if len(arriving) > 0 && (len(r.running) == 0 || jobs[arriving[0]].Arrive < r.out[r.running[0]].End) {
			r.now = jobs[arriving[0]].Arrive
			r.queue, arriving = append(r.queue, arriving[0]), arriving[1:]
		} else {
			r.end() // one runs: nobody waits for an idle cluster
		}
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

// run is one call of Run.
type run struct {
	*Cluster
	jobs    []Job
	out     []Started
	now     float64
	free    []bool
	queue   []int // jobs that wait, the first to arrive first
	running []int // by their ends
}

// end ends the job that is the next to.
func (r *run) end() {
	job := r.running[0]
	r.running = r.running[1:]
	r.now = r.out[job].End
	for _, h := range r.out[job].Hosts {
		r.free[h] = true
	}
}

// start starts the jobs that can start.
func (r *run) start() error {
	for len(r.queue) > 0 && r.fits(r.queue[0]) {
		if err := r.launch(0); err != nil {
			return err
		}
	}
	if len(r.queue) == 0 {
		return nil
	}
	at, spare := r.reservation(r.queue[0])
	for i := 1; i < len(r.queue); {
		job := r.queue[i]
		early := r.now+r.jobs[job].Runtime*(1+r.Slowdown) <= at
		if !r.fits(job) || !early && r.jobs[job].Hosts > spare {
			i++
			continue
		}
		if !early {
			spare -= r.jobs[job].Hosts
		}
		if err := r.launch(i); err != nil {
			return err
		}
	}
	return nil
}

// idle counts the free hosts.
func (r *run) idle() int {
	n := 0
	for _, is := range r.free {
		if is {
			n++
		}
	}
	return n
}

func (r *run) fits(job int) bool { return r.jobs[job].Hosts <= r.idle() }

// reservation returns the time at which a waiting job will have its hosts, and the
// number of hosts left over then.
func (r *run) reservation(job int) (at float64, spare int) {
	idle := r.idle()
	for _, other := range r.running {
		if idle += r.jobs[other].Hosts; idle >= r.jobs[job].Hosts {
			at = r.out[other].End
			break
		}
	}
	return at, idle - r.jobs[job].Hosts
}

// launch starts the job at a place of the queue.
func (r *run) launch(place int) error {
	job := r.queue[place]
	r.queue = slices.Delete(r.queue, place, place+1)
	hosts := r.Select(slices.Clone(r.free), r.Link, r.jobs[job].Hosts)
	if len(hosts) != r.jobs[job].Hosts {
		return fmt.Errorf("job %d was given %d of %d hosts", job, len(hosts), r.jobs[job].Hosts)
	}
	for _, h := range hosts {
		if h < 0 || h >= len(r.free) || !r.free[h] {
			return fmt.Errorf("job %d was given host %d, which is not free", job, h)
		}
		r.free[h] = false
	}
	s := Started{Start: r.now, Hosts: hosts, Pairs: Pairs(r.Link, hosts)}
	runtime := r.jobs[job].Runtime
	if s.Pairs > 0 {
		runtime *= 1 + r.Slowdown
	}
	s.End = r.now + runtime
	r.out[job] = s
	after := slices.IndexFunc(r.running, func(other int) bool { return r.out[other].End > s.End })
	if after < 0 {
		after = len(r.running)
	}
	r.running = slices.Insert(r.running, after, job)
	return nil
}

package sched

import (
	"fmt"
	"math"

	"github.com/golaunch/golaunch/network/topology"
)

// Workload describes jobs that arrive at random.
type Workload struct {
	Jobs              int
	Hosts             []int   // hosts of a job, each number as likely as the others
	Gap               float64 // seconds from one arrival to the next, on average
	Shortest, Longest float64 // runtimes in seconds, all between as likely
}

// Draw draws the jobs by a seed; the same seed gives the same on every machine. Gaps
// are distributed exponentially. The error names the wrong field of w.
func (w *Workload) Draw(seed uint64) ([]Job, error) {
	switch {
	case len(w.Hosts) == 0:
		return nil, fmt.Errorf("no job sizes")
	case !(w.Gap >= 0) || math.IsInf(w.Gap, 1):
		return nil, fmt.Errorf("gap of %v s: expected 0 or more", w.Gap)
	case !(w.Shortest > 0 && w.Longest >= w.Shortest) || math.IsInf(w.Longest, 1):
		return nil, fmt.Errorf("runtimes of %v to %v s: expected more than 0, and the shortest first", w.Shortest, w.Longest)
	}
	state := seed * 1e6
	uniform := func() float64 {
		state++
		return float64(topology.Mix(state*topology.MixStep)>>11) / (1 << 53)
	}
	list, now := make([]Job, w.Jobs), 0.0
	for i := range list {
		now -= w.Gap * math.Log(1-uniform())
		list[i] = Job{Arrive: now, Hosts: w.Hosts[int(uniform()*float64(len(w.Hosts)))], Runtime: w.Shortest + (w.Longest-w.Shortest)*uniform()}
	}
	return list, nil
}

// Outcome sums a schedule up: times in seconds, and means over the jobs but for
// Makespan.
type Outcome struct {
	Makespan   float64 // when the last job ends
	Wait       float64 // from arrival to start
	Turnaround float64 // from arrival to end
	Slowed     float64 // the share of jobs of which hosts share a link
	Pairs      float64 // of a job's hosts that share a link
}

// Judge returns the outcome of jobs that were run.
func Judge(jobs []Job, started []Started) (o Outcome) {
	each := 1 / float64(max(1, len(jobs)))
	for i, s := range started {
		o.Makespan = max(o.Makespan, s.End)
		o.Wait += (s.Start - jobs[i].Arrive) * each
		o.Turnaround += (s.End - jobs[i].Arrive) * each
		o.Pairs += float64(s.Pairs) * each
		if s.Pairs > 0 {
			o.Slowed += each
		}
	}
	return o
}

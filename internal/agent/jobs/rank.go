package jobs

import (
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/pmi"
)

// rank is one local process.
type rank struct {
	serve.Rank
	world   *world
	asked   *pmi.Spawn // its last spawn
	refusal *refusal   // of its last spawn, where it may wait for ever since
	record  report.Rank
	cpus    []int    // to which it is bound, ascending; nil if it is not
	gpus    []string // that it has for itself (package gpu); nil if it has none
	gpuEnv  []string // by which it finds them
	// nearGPUs are the CPUs near the GPUs that it uses, with --bind-to gpu.
	nearGPUs []int
}

func (r *rank) id() job.RankID { return job.RankID{World: r.world.id, Rank: r.Number} }

package launcher

import (
	"slices"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
)

// launchMessage turns the final plan into what the agents need to know.
func (r *run) launchMessage(ready overlay.Ready) (*overlay.Launch, error) {
	limits, err := unix.Rlimits()
	if err != nil {
		return nil, err
	}
	nodes := make([]job.HostIndex, len(ready.Live))
	for i, n := range ready.Live {
		nodes[i] = n.Index
	}
	slices.Sort(nodes)
	return &overlay.Launch{
		KVSName:   "kvs_" + r.jobID[:16] + "_0",
		Size:      r.plan.Size,
		Apps:      r.plan.Apps,
		Env:       r.Env,
		Umask:     unix.Umask(),
		Rlimits:   limits,
		Blocks:    r.plan.Blocks,
		Nodes:     nodes,
		Mapping:   r.plan.ProcessMapping(),
		StdinRank: r.stdinRank(),
		Grace:     r.Grace,

		Cache:      r.Cache,
		CacheBytes: r.CacheBytes,
	}, nil
}

// hostOf is the host of a rank of the plan.
func (p *Plan) hostOf(r job.Rank) job.HostIndex {
	i, found := slices.BinarySearchFunc(p.Blocks, r, func(b job.Block, r job.Rank) int {
		switch {
		case r < b.First:
			return 1
		case r >= b.First+job.Rank(b.Count):
			return -1
		}
		return 0
	})
	if !found {
		return job.NoHost
	}
	return p.Blocks[i].Host
}

// stdinRank says in the launch message's terms who reads standard input.
func (r *run) stdinRank() job.Rank {
	switch r.Stdin {
	case StdinAll:
		return overlay.StdinAll
	case StdinNone:
		return overlay.StdinNone
	}
	return job.Rank(r.Stdin)
}

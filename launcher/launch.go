package launcher

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// launchMessage turns the final plan into a message for the agents.
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
	r.account.profiles.know(ownWorld, r.plan)
	o := r.options.Launch
	if r.options.Report.ProfileFile == "" {
		o.Profile = ""
	}
	label, err := labelPattern(r.options.Output.Label)
	if err != nil {
		return nil, err
	}
	o.Timed = label.Timed()
	if o.EnvFrom = r.options.Launch.EnvFrom.In(r.plan.containers); o.EnvFrom != r.options.Launch.EnvFrom {
		r.verbose(1, "ranks have the environment of their containers' images, not golaunch's (--env-from)")
	}
	own := r.worldMessage(ownWorld, r.plan)
	own.Slots = r.slots()
	return &overlay.Launch{
		LaunchOptions: o,

		World:     own,
		Env:       o.EnvFrom.Sent(r.options.Programs.Env),
		EnvGiven:  r.given(),
		Terminal:  r.input.terminal.ask(),
		Umask:     unix.Umask(),
		Rlimits:   limits,
		Nodes:     nodes,
		StdinRank: r.stdinRank(),
		Universe:  r.plan.universe(r.mayGrow()),
		ShareCPUs: r.options.Placement.Oversubscribe,
		Libraries: r.libraries(),
		MPICHFix:  r.options.mpichFix(),
		Files:     r.staging.files.List(),
	}, nil
}

// worldMessage describes a world to its nodes.
func (r *run) worldMessage(id int, p *Plan) overlay.World {
	return overlay.World{
		KVSName: r.kvsName(id), Size: p.Size, Apps: p.Apps, Blocks: p.Blocks, Mapping: p.ProcessMapping(),
		Programs: r.staging.programs(p.Apps),
		Depth:    p.network.depth, Clusters: p.clustersOf(p.Blocks.hosts()),
		Names: p.nodeNames(),
	}
}

// slots returns the CPUs that a rank file names.
func (r *run) slots() map[job.Rank]string {
	if r.options.Placement.Wish.RankFile == nil {
		return nil
	}
	return r.options.Placement.Wish.RankFile.Slots()
}

// kvsName returns the name of a world's key-value space.
func (r *run) kvsName(world int) string { return fmt.Sprintf("kvs_%s_%d", r.tree.ID()[:16], world) }

// stdinRank returns the launch message's number for the readers of standard input.
func (r *run) stdinRank() job.Rank {
	switch r.options.Input.Stdin {
	case StdinAll:
		return overlay.StdinAll
	case StdinNone:
		return overlay.StdinNone
	}
	return job.Rank(r.options.Input.Stdin)
}

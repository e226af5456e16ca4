package agent

import (
	"fmt"
	"io/fs"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/placement/gpu"
)

// giveGPUs gives the local ranks of a world GPUs of their own, if LaunchOptions says so:
// of those that the host has, by its files, and that the environment of this agent
// leaves. Ranks for which the user names some have these, and none of ours. Nodes on one
// machine share its GPUs: ranks of a lower node come first.
func (a *Agent) giveGPUs(w *world, root fs.FS, environ []string) error {
	per := a.launch.GPUsPerRank
	if per == 0 || gpu.Chosen(a.launch.EnvGiven) {
		return nil
	}
	wants := func(app int) bool { return !gpu.Chosen(w.Apps[app].Env) }
	var ranks []*rank
	for _, r := range w.ranks {
		if wants(r.App) {
			ranks = append(ranks, r)
		}
	}
	if len(ranks) == 0 {
		return nil
	}
	before, all := 0, len(ranks)
	if a.onOneMachine() {
		before, all = w.wanting(a.self.Index, wants)
	}
	var taken []string
	for _, other := range a.worlds {
		for _, r := range other.ranks {
			if !r.Exited {
				taken = append(taken, r.gpus...)
			}
		}
	}
	host := gpu.Read(root, environ)
	sets, err := host.Assign(per, all, taken)
	if err != nil {
		return &placeError{ranks[0].Number, fmt.Errorf("--gpus-per-rank %d: %w", per, err)}
	}
	for i, r := range ranks {
		r.gpus = sets[before+i]
		r.gpuEnv = host.Env(r.gpus)
	}
	return nil
}

// wanting counts the ranks of a world whose apps want something: those on hosts before
// one, and all.
func (w *world) wanting(host job.HostIndex, wants func(app int) bool) (before, all int) {
	for _, b := range w.Blocks {
		if !wants(b.App) {
			continue
		}
		if all += b.Count; b.Host < host {
			before += b.Count
		}
	}
	return before, all
}

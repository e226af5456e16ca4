package jobs

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/network/placement/gpu"
)

// giveGPUs gives the local ranks of a world GPUs of their own, if LaunchOptions says so:
// of those that the host has, by its files, and that the environment of this agent
// leaves. Ranks for which the user names some have these, and none of ours. Nodes on one
// machine share its GPUs: ranks of a lower node come first.
func (pl *placing) giveGPUs(w *world, root fs.FS, environ []string) error {
	per := pl.j.launch.GPUsPerRank
	if per == 0 || gpu.Chosen(pl.j.launch.EnvGiven) {
		return nil
	}
	wants := func(app int) bool { return !gpu.Chosen(w.spec.Apps[app].Env) }
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
	if pl.j.node.OneMachine() {
		before, all = w.wanting(pl.j.node.Self().Index, wants)
	}
	taken := slices.Clone(pl.j.share.others.GPUs)
	for _, other := range pl.j.worlds {
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

// seenGPUs are the GPUs that the ranks of an app see, and those of each local rank's number.
type seenGPUs struct {
	host gpu.Host
	sets [][]string // nil for ranks with GPUs of their own
}

// findNear finds the CPUs near the GPUs of the local ranks of a world, with --bind-to gpu: of
// ranks that have none of their own, near that of their number on the host, which programs
// choose by LOCAL_RANK among those that the environment leaves.
func (pl *placing) findNear(w *world, root fs.FS, environ []string) error {
	choice, err := binding.Parse(pl.j.node.Common().BindTo)
	if err != nil || !choice.ByGPU() {
		return err
	}
	apps := map[int]*seenGPUs{}
	for i, r := range w.ranks {
		if _, named := w.spec.Slots[r.Number]; named {
			continue
		}
		seen := apps[r.App]
		if seen == nil {
			seen = &seenGPUs{host: gpu.Read(root, slices.Concat(environ, pl.j.launch.EnvGiven, w.spec.Apps[r.App].Env))}
			if r.gpus == nil { // as all ranks of this app
				if seen.sets, err = seen.host.Assign(1, len(w.ranks), nil); err != nil {
					return &placeError{r.Number, fmt.Errorf("--bind-to %v: %w", choice, err)}
				}
			}
			apps[r.App] = seen
		}
		near := r.gpus
		if near == nil {
			near = seen.sets[i]
		}
		if r.nearGPUs, err = seen.host.Near(root, near); err != nil {
			return &placeError{r.Number, fmt.Errorf("--bind-to %v: %w", choice, err)}
		}
		if seen.host.Maker == gpu.NVIDIA && !pl.ordersGPUs(w, r) {
			r.gpuEnv = append(r.gpuEnv, gpu.DeviceOrder+"="+gpu.ByPCI)
		}
	}
	return nil
}

// ordersGPUs reports an order of GPUs for CUDA in the environment of a rank.
func (pl *placing) ordersGPUs(w *world, r *rank) bool {
	sets := func(kv string) bool { return strings.HasPrefix(kv, gpu.DeviceOrder+"=") }
	return slices.ContainsFunc(slices.Concat(pl.j.launch.Env, pl.j.launch.EnvGiven, w.spec.Apps[r.App].Env), sets)
}

// wanting counts the ranks of a world whose apps want something: those on hosts before
// one, and all.
func (w *world) wanting(host job.HostIndex, wants func(app int) bool) (before, all int) {
	for _, b := range w.spec.Blocks {
		if !wants(b.App) {
			continue
		}
		if all += b.Count; b.Host < host {
			before += b.Count
		}
	}
	return before, all
}

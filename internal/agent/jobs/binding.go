package jobs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// placeError is why a rank cannot have its CPUs, or GPUs.
type placeError struct {
	rank job.Rank
	error
}

func (e *placeError) Unwrap() error { return e.error }

// placing gives a job's ranks their CPUs and GPUs.
type placing struct{ j *Job }

// bind finds the CPUs of the local ranks of a world, if they are to be bound: those
// that the user names for a rank, or what LaunchOptions.BindTo says. Ranks of worlds
// that live count as there.
func (pl *placing) bind(w *world) error {
	l := pl.j.launch
	choice, err := binding.Parse(pl.j.node.Common().BindTo)
	if err != nil || !choice.Binds() && len(w.spec.Slots) == 0 && !l.ReportBindings {
		return err
	}
	host, err := pl.j.node.Processors(choice.Local() && len(w.spec.Slots) == 0)
	if err != nil {
		return err
	}
	if err := pl.bindNamed(w, host); err != nil {
		return err
	}
	if choice.Binds() {
		if err := pl.bindOthers(w, host, choice); err != nil {
			return err
		}
	}
	for _, r := range w.ranks {
		r.CPUs = binding.Format(r.cpus)
		r.record.CPUs = r.CPUs
	}
	if l.ReportBindings {
		w.own.Bound = []overlay.Bound{{Ranks: boundTexts(w, host), Hosts: []job.HostIndex{pl.j.node.Self().Index}}}
	}
	return nil
}

// bindNamed gives ranks the CPUs that the user names for them.
func (pl *placing) bindNamed(w *world, host *binding.Host) error {
	for _, r := range w.ranks {
		text, ok := w.spec.Slots[r.Number]
		if !ok {
			continue
		}
		slots, err := binding.ParseSlots(text)
		if err == nil {
			r.cpus, err = host.Find(slots)
		}
		if err != nil {
			return &placeError{r.Number, fmt.Errorf("slot=%s: %w", text, err)}
		}
	}
	return nil
}

// bindOthers gives the other ranks theirs. Nodes on one machine share its CPUs: ranks of
// a lower node come first.
func (pl *placing) bindOthers(w *world, host *binding.Host, choice binding.Choice) error {
	var ranks []*rank
	for _, r := range w.ranks {
		if r.cpus == nil {
			ranks = append(ranks, r)
		}
	}
	if len(ranks) == 0 {
		return nil
	}
	if choice.ByGPU() {
		return bindNearGPUs(ranks, host)
	}
	before, all := 0, len(ranks)
	if pl.j.node.OneMachine() {
		before, all = w.unnamed(pl.j.node.Self().Index)
	}
	sets, err := host.Assign(binding.Wish{Choice: choice, Ranks: all, Taken: pl.taken(), Share: pl.j.launch.ShareCPUs})
	if err != nil {
		return &placeError{ranks[0].Number, fmt.Errorf("--bind-to %v: %w", choice, err)}
	}
	for i, r := range ranks {
		r.cpus = sets[before+i]
	}
	return nil
}

// bindNearGPUs gives ranks the CPUs near the GPUs that they have: those of one NUMA node
// share its CPUs.
func bindNearGPUs(ranks []*rank, host *binding.Host) error {
	for _, r := range ranks {
		if r.cpus = host.Within(r.nearGPUs); len(r.cpus) == 0 {
			return &placeError{r.Number, fmt.Errorf("--bind-to %s: CPUs %s are near the rank's GPUs, of which the job may use none: it may use CPUs %s; use --bind-to none",
				binding.GPU, binding.Format(r.nearGPUs), binding.Format(host.CPUs()))}
		}
	}
	return nil
}

// unnamed counts the ranks of a world for which no CPUs are named: those on hosts before
// one, and all.
func (w *world) unnamed(host job.HostIndex) (before, all int) {
	for _, b := range w.spec.Blocks {
		n := b.Count
		for i := range b.Count {
			if _, named := w.spec.Slots[b.First+job.Rank(i)]; named {
				n--
			}
		}
		if all += n; b.Host < host {
			before += n
		}
	}
	return before, all
}

// taken are the CPUs of the local ranks that are bound and have not ended, and of ranks of
// other jobs.
func (pl *placing) taken() (sets [][]int) {
	sets = slices.Clone(pl.j.share.others.CPUs)
	for _, w := range pl.j.worlds {
		for _, r := range w.ranks {
			if r.cpus != nil && !r.Exited {
				sets = append(sets, r.cpus)
			}
		}
	}
	return sets
}

// boundTexts says of each local rank of a world where it runs.
func boundTexts(w *world, host *binding.Host) (texts []string) {
	for _, r := range w.ranks {
		text := cpusText(host.CPUs()) + " (not bound)"
		if r.cpus != nil {
			text = cpusText(r.cpus)
			if where := host.Describe(r.cpus); where != "" {
				text += " (" + where + ")"
			}
		}
		texts = append(texts, overlay.CutCause(text))
	}
	return texts
}

func cpusText(cpus []int) string {
	if len(cpus) == 1 {
		return "CPU " + binding.Format(cpus)
	}
	return "CPUs " + binding.Format(cpus)
}

// cannotStart has no rank of a world start here, since some cannot have what it needs.
func (rs *ranks) cannotStart(w *world, err error) {
	text, first := overlay.CutCause(err.Error()), w.ranks[0].Number
	if e, ok := errors.AsType[*placeError](err); ok {
		first = e.rank
	}
	for _, b := range w.spec.Blocks {
		if w.spawned && b.Host == rs.j.node.Self().Index {
			w.own.Fail(overlay.StartFailure{Host: b.Host, First: b.First, Count: b.Count, Code: job.ExitLauncher, Text: text})
		}
	}
	if !w.spawned {
		rs.j.failures.fail(job.Failure{Class: job.CauseStart, Rank: first, Host: rs.j.node.Self().Index, Code: job.ExitLauncher, Phase: "start", Text: text})
	}
	w.ended.Merge(overlay.Done{Failed: 1, Ended: -1, Never: -1}) // of those that are counted next
	rs.neverStart(w)
}

// bindingEnv is what keeps MPI libraries that bind ranks by themselves from doing so
// where golaunch does. What the user sets counts more.
func bindingEnv(w *world) []string {
	if !slices.ContainsFunc(w.ranks, func(r *rank) bool { return r.cpus != nil }) {
		return nil
	}
	return []string{"MV2_ENABLE_AFFINITY=0"} // MVAPICH2
}

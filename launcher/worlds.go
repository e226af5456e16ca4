package launcher

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// world is one world of the job that is not over.
type world struct {
	plan    *Plan
	started bool // every rank was started, or could not be
	done    bool // every rank has ended
	drained bool // every byte of output was printed
	failed  bool // it could not be started as a whole
	hang    hang // of its ranks in MPI_Finalize

	// Of a spawned one.
	by    overlay.SpawnRequest
	codes []int // of the processes that were left out from the beginning
}

// active reports whether some rank of some world has not ended.
func (r *run) active() bool {
	for _, w := range r.worlds {
		if !w.done {
			return true
		}
	}
	return false
}

// running reports whether the first world has started.
func (r *run) running() bool { return r.worlds[0] != nil && r.worlds[0].started }

// used is how many ranks each host holds.
func (r *run) used() []int {
	used := make([]int, len(r.plan.Hosts))
	for _, w := range r.worlds {
		if w.done {
			continue
		}
		for _, b := range w.plan.Blocks {
			used[b.Host] += b.Count
		}
	}
	return used
}

// spawn starts what a rank asks for as a new world, or answers why not.
func (r *run) spawn(q overlay.SpawnRequest) {
	if r.worlds[q.World] == nil || r.killed || r.over {
		return // whoever asked is gone, or about to be
	}
	r.start(q)
}

// start begins a new world, or answers why not. It may have to wait for hosts
// to get agents.
func (r *run) start(q overlay.SpawnRequest) {
	by := r.worlds[q.World]
	if by == nil || r.killed || r.over {
		return // meanwhile
	}
	block := job.BlockOf(by.plan.Blocks, q.Rank)
	if block == nil {
		r.refuse(q, fmt.Errorf("rank %v does not exist", asker(q)), nil)
		return
	}
	app := by.plan.Apps[block.App]
	on := r.plan.lacking(r.gone)
	if r.mayGrow() && r.tree.growing == nil {
		on = on.withUnused()
	}
	used := append(r.used(), make([]int, len(on.Hosts)-len(r.plan.Hosts))...)
	plan, codes, err := on.Spawn(&q.Spawn, app, SpawnHosts{Used: used, Names: r.names, HostFile: hostFile(q.Files)})
	switch {
	case err != nil && r.tree.growing != nil:
		r.waiting = append(r.waiting, q)
		return
	case err == nil && len(r.missing(plan)) > 0:
		r.grow(r.missing(plan), q)
		return
	case err == nil:
		err = r.begin(plan, codes, q)
	}
	if err != nil {
		r.refuse(q, err, nil)
	}
}

// begin sends a new world on its way. The answer to the spawn follows when all
// its ranks are started.
func (r *run) begin(plan *Plan, codes []int, q overlay.SpawnRequest) error {
	id := r.newest + 1
	if id == overlay.MaxWorlds {
		return fmt.Errorf("a job has at most %d worlds", overlay.MaxWorlds)
	}
	if err := r.output.printer.prepare(id, plan); err != nil {
		return err
	}
	message := r.worldMessage(id, plan)
	message.Spawner, message.SpawnRank, message.Preput = r.kvsName(q.World), q.Rank, map[string]string{}
	for _, p := range q.Spawn.Preput {
		message.Preput[p.Key] = p.Value
	}
	r.newest = id
	r.profiles.know(id, plan)
	r.worlds[id] = &world{plan: plan, by: q, codes: codes}
	r.tree.know(id, plan.Blocks)
	r.tree.toRoot(id, link.KVS, overlay.KindWorld, overlay.Encode(message))
	r.verbose(1, "world %d: %s spawned by rank %v on %s", id, plural(plan.Size, "rank"), asker(q), r.hostName(q.Host))
	return nil
}

// asker names the rank that asked for a spawn.
func asker(q overlay.SpawnRequest) job.RankID { return job.RankID{World: q.World, Rank: q.Rank} }

// refuse answers that there is no new world, and tells the user why.
func (r *run) refuse(q overlay.SpawnRequest, err error, codes []int) {
	waits := ""
	if by := r.worlds[q.World]; by != nil && q.Spawn.CodesTell(by.plan.Size) {
		waits = "; where they ignore error codes (MPI_ERRCODES_IGNORE) its ranks now wait for ever, as MPICH's ch3 has it"
	}
	r.report.note("spawn by rank %v on %s: %v%s", asker(q), r.hostName(q.Host), err, waits)
	r.answer(q, overlay.SpawnAnswer{Failure: err.Error(), Codes: codes})
}

func (r *run) answer(q overlay.SpawnRequest, s overlay.SpawnAnswer) {
	s.Host, s.World, s.Rank, s.Call = q.Host, q.World, q.Rank, q.Call
	r.tree.toRoot(0, link.Service, overlay.KindSpawned, overlay.Encode(s))
}

// worldStarted has the first world get the signals kept for it and read its
// input, and answers the spawn of another.
func (r *run) worldStarted(id int, s overlay.Started) error {
	w := r.worlds[id]
	if w == nil || w.started {
		return fmt.Errorf("world %d has started twice, or never began", id)
	}
	if lines := boundLines(id, w.plan, s.Bound); len(lines) > 0 {
		r.report.say("%s", strings.Join(lines, "\n"))
	}
	if id == 0 {
		w.started = true
		r.clock.mark("ranks started")
		r.report.status.end()
		for _, s := range r.signals.early {
			r.signals.passOn(s)
		}
		r.input.start()
		r.input.resize()
		return nil
	}
	w.started = true
	if len(s.Failures) == 0 {
		r.answer(w.by, overlay.SpawnAnswer{KVSName: r.kvsName(id), Codes: w.codes})
		return nil
	}
	w.failed = true
	if s.Ranks > 0 {
		r.tree.toRoot(id, link.Control, overlay.KindEndWorld, nil)
	}
	codes, err := r.startFailures(w, s.Failures)
	r.refuse(w.by, err, codes)
	return nil
}

// startFailures says why a spawned world is not there, and which processes are
// to blame.
func (r *run) startFailures(w *world, failures []overlay.StartFailure) (codes []int, err error) {
	place := w.places()
	codes = w.codes
	if codes == nil {
		codes = make([]int, len(place))
	}
	failed := 0
	for _, f := range failures {
		if f.First < 0 || f.Count < 1 || int(f.First) > len(place)-f.Count {
			return nil, fmt.Errorf("%s failed to start ranks %d+%d, which do not exist", r.hostName(f.Host), f.First, f.Count)
		}
		failed += f.Count
		for _, n := range place[f.First:][:f.Count] {
			codes[n] = f.Code
		}
	}
	first := failures[0]
	text := fmt.Sprintf("%s not started: on %s: %s", count(failed, "process was", "processes were"), r.hostName(first.Host), quoted(first.Text))
	return codes, errors.New(text)
}

// places tells which of the processes that were asked for each rank is.
func (w *world) places() []int {
	var places []int
	next := 0
	for i, c := range w.by.Spawn.Commands {
		for j := range w.plan.Apps[i].N {
			places = append(places, next+j)
		}
		next += c.Procs
	}
	return places
}

// worldDone counts a world's ranks out. Its slots are free from now on.
func (r *run) worldDone(id int, d overlay.Done) error {
	w := r.worlds[id]
	if w == nil || w.done {
		return fmt.Errorf("world %d has ended twice, or never began", id)
	}
	if w.done = true; !w.failed {
		r.total.Merge(d)
		r.expected += w.plan.Size
	}
	if !r.active() {
		r.clock.mark("ranks ended")
	}
	r.worldOver(id, w)
	return nil
}

func (r *run) worldDrained(id int) {
	if w := r.worlds[id]; w != nil {
		w.drained = true
		r.worldOver(id, w)
	}
}

// worldOver has a spawned world forgotten once nothing more comes of it. That
// of the first is the job's.
func (r *run) worldOver(id int, w *world) {
	if id > 0 && w.done && w.drained && w.started {
		delete(r.worlds, id)
		r.tree.forgetWorld(id)
		r.schedules.forget(func(s *schedule) bool { return s.of.World == id })
		r.tree.toRoot(id, link.KVS, overlay.KindForget, nil)
	}
	r.endIf()
}

// drained reports whether all output that can come was printed.
func (r *run) drained() bool {
	for _, w := range r.worlds {
		if !w.drained {
			return false
		}
	}
	return true
}

// knowNames notes what the live hosts call themselves, for hints of spawns.
func (r *run) knowNames(ready overlay.Ready) {
	r.names = map[string]job.HostIndex{}
	for _, n := range ready.Live {
		if _, taken := r.names[n.HostName]; taken {
			r.names[n.HostName] = job.NoHost
			continue
		}
		r.names[n.HostName] = n.Index
	}
	maps.DeleteFunc(r.names, func(_ string, h job.HostIndex) bool { return h == job.NoHost })
}

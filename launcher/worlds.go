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

// ownWorld is the number of the world of the job's own apps, which the launch message
// starts. Spawned ones have higher numbers.
const ownWorld = 0

// worlds are those of the job that are not over.
type worlds struct {
	job     *run
	own     *world // of the job's own apps, also once it is over; nil before the launch
	all     map[int]*world
	newest  int                      // highest number so far
	names   map[string]job.HostIndex // the hosts' own names
	waiting []overlay.SpawnRequest   // for hosts that the tree grows to
}

// launch begins with the world of the job's own apps.
func (ws *worlds) launch(plan *Plan) {
	ws.own = &world{plan: plan}
	ws.all = map[int]*world{ownWorld: ws.own}
}

// launched reports whether ranks were sent on their way.
func (ws *worlds) launched() bool { return ws.own != nil }

// world is one of them.
type world struct {
	plan    *Plan
	started bool // every rank was started, or could not be
	done    bool // every rank has ended
	drained bool // every byte of output was printed
	failed  bool // it could not be started as a whole
	hang    hang // of its ranks in MPI_Finalize

	// Of a spawned one.
	by    *overlay.SpawnRequest // nil of the job's own
	codes []int                 // of the processes that were left out from the beginning
}

// active reports whether some rank of some world has not ended.
func (ws *worlds) active() bool {
	for _, w := range ws.all {
		if !w.done {
			return true
		}
	}
	return false
}

// running reports whether all ranks of the job's own apps have started.
func (ws *worlds) running() bool { return ws.launched() && ws.own.started }

// used counts the ranks of each host.
func (ws *worlds) used() []int {
	used := make([]int, len(ws.job.plan.Hosts))
	for _, w := range ws.all {
		if w.done {
			continue
		}
		for _, b := range w.plan.Blocks {
			used[b.Host] += b.Count
		}
	}
	return used
}

// spawn starts a rank's request as a new world, or answers with the reason against it.
func (ws *worlds) spawn(q overlay.SpawnRequest) {
	if ws.all[q.World] == nil || ws.job.killed || ws.job.over {
		return // the rank that asked is gone, or about to be
	}
	ws.start(q)
}

// start begins a new world, or answers with the reason against it. It may have to wait
// for hosts to get agents.
func (ws *worlds) start(q overlay.SpawnRequest) {
	by := ws.all[q.World]
	if by == nil || ws.job.killed || ws.job.over {
		return // meanwhile
	}
	block := job.BlockOf(by.plan.Blocks, q.Rank)
	if block == nil {
		ws.refuse(q, fmt.Errorf("rank %v does not exist", asker(q)), nil)
		return
	}
	app := by.plan.Apps[block.App]
	on := ws.job.plan.lacking(ws.job.gone)
	if ws.job.mayGrow() && !ws.job.tree.Growing() {
		on = on.withUnused()
	}
	used := append(ws.used(), make([]int, len(on.Hosts)-len(ws.job.plan.Hosts))...)
	plan, codes, err := on.Spawn(&q.Spawn, app, SpawnHosts{Used: used, Names: ws.names, HostFile: hostFile(q.Files)})
	switch {
	case err != nil && ws.job.tree.Growing():
		ws.waiting = append(ws.waiting, q)
		return
	case err == nil && len(ws.missing(plan)) > 0:
		ws.job.grow(ws.missing(plan), q)
		return
	case err == nil:
		err = ws.begin(plan, codes, q)
	}
	if err != nil {
		ws.refuse(q, err, nil)
	}
}

// begin sends a new world on its way. The answer to the spawn follows when all
// its ranks are started.
func (ws *worlds) begin(plan *Plan, codes []int, q overlay.SpawnRequest) error {
	id := ws.newest + 1
	if id == overlay.MaxWorlds {
		return fmt.Errorf("a job has at most %d worlds", overlay.MaxWorlds)
	}
	if err := ws.job.output.printer.prepare(id, plan); err != nil {
		return err
	}
	message := ws.job.worldMessage(id, plan)
	message.Spawner, message.SpawnRank, message.Preput = ws.job.kvsName(q.World), q.Rank, map[string]string{}
	for _, p := range q.Spawn.Preput {
		message.Preput[p.Key] = p.Value
	}
	ws.newest = id
	ws.job.account.profiles.know(id, plan)
	ws.all[id] = &world{plan: plan, by: &q, codes: codes}
	ws.job.tree.Know(ws.job.number, id, plan.Blocks)
	ws.job.tellOf(id, link.KVS, overlay.KindWorld, overlay.Encode(message))
	ws.job.verbose(1, "world %d: %s spawned by rank %v on %s", id, plural(plan.Size, "rank"), asker(q), ws.job.hostName(q.Host))
	return nil
}

// asker names the rank that asked for a spawn.
func asker(q overlay.SpawnRequest) job.RankID { return job.RankID{World: q.World, Rank: q.Rank} }

// refuse answers that there is no new world, and tells the user the reason.
func (ws *worlds) refuse(q overlay.SpawnRequest, err error, codes []int) {
	waits := ""
	if by := ws.all[q.World]; by != nil && q.Spawn.CodesTell(by.plan.Size) {
		waits = "; where they ignore error codes (MPI_ERRCODES_IGNORE) its ranks now wait for ever, as MPICH's ch3 has it"
	}
	ws.job.report.Note("spawn by rank %v on %s: %v%s", asker(q), ws.job.hostName(q.Host), err, waits)
	ws.answer(q, overlay.SpawnAnswer{Failure: err.Error(), Codes: codes})
}

func (ws *worlds) answer(q overlay.SpawnRequest, s overlay.SpawnAnswer) {
	s.Host, s.World, s.Rank, s.Call = q.Host, q.World, q.Rank, q.Call
	ws.job.tell(link.Service, overlay.KindSpawned, overlay.Encode(s))
}

// noteStarted has the own world get the signals kept for it and read its
// input, and answers the spawn of another.
func (ws *worlds) noteStarted(id int, s overlay.Started) error {
	w := ws.all[id]
	if w == nil || w.started {
		return fmt.Errorf("world %d has started twice, or never began", id)
	}
	if lines := boundLines(id, w.plan, s.Bound); len(lines) > 0 {
		ws.job.report.Say("%s", strings.Join(lines, "\n"))
	}
	w.started = true
	if w == ws.own {
		ws.job.account.clock.Mark("ranks started")
		ws.job.report.status.end()
		for _, s := range ws.job.signals.early {
			ws.job.signals.passOn(s)
		}
		ws.job.input.start()
		ws.job.input.resize()
		return nil
	}
	if len(s.Failures) == 0 {
		ws.answer(*w.by, overlay.SpawnAnswer{KVSName: ws.job.kvsName(id), Codes: w.codes})
		return nil
	}
	w.failed = true
	if s.Ranks > 0 {
		ws.job.tellOf(id, link.Control, overlay.KindEndWorld, nil)
	}
	codes, err := ws.startFailures(w, s.Failures)
	ws.refuse(*w.by, err, codes)
	return nil
}

// startFailures returns the error of a spawned world that is not there, and the codes
// of the processes to blame.
func (ws *worlds) startFailures(w *world, failures []overlay.StartFailure) (codes []int, err error) {
	place := w.places()
	codes = w.codes
	if codes == nil {
		codes = make([]int, len(place))
	}
	lost := 0
	for _, f := range failures {
		if f.First < 0 || f.Count < 1 || int(f.First) > len(place)-f.Count {
			return nil, fmt.Errorf("%s failed to start ranks %d+%d, which do not exist", ws.job.hostName(f.Host), f.First, f.Count)
		}
		lost += f.Count
		for _, n := range place[f.First:][:f.Count] {
			codes[n] = f.Code
		}
	}
	first := failures[0]
	text := fmt.Sprintf("%s not started: on %s: %s", count(lost, "process was", "processes were"), ws.job.hostName(first.Host), quoted(first.Text))
	return codes, errors.New(text)
}

// places maps ranks to the processes that were asked for.
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

// noteDone counts a world's ranks out. Its slots are free from now on.
func (ws *worlds) noteDone(id int, d overlay.Done) error {
	w := ws.all[id]
	if w == nil || w.done {
		return fmt.Errorf("world %d has ended twice, or never began", id)
	}
	if w.done = true; !w.failed {
		ws.job.total.Merge(d)
		ws.job.expected += w.plan.Size
	}
	if !ws.active() {
		ws.job.account.clock.Mark("ranks ended")
	}
	ws.forget(id, w)
	return nil
}

func (ws *worlds) noteDrained(id int) {
	if w := ws.all[id]; w != nil {
		w.drained = true
		ws.forget(id, w)
	}
}

// forget has a spawned world forgotten once nothing more comes of it. The own one is
// kept as long as the job.
func (ws *worlds) forget(id int, w *world) {
	if w != ws.own && w.done && w.drained && w.started {
		delete(ws.all, id)
		ws.job.tree.Forget(ws.job.number, id)
		ws.job.schedules.forget(func(s *schedule) bool { return s.of.World == id })
		ws.job.tellOf(id, link.KVS, overlay.KindForget, nil)
	}
	ws.job.endIf()
}

// drained reports whether all output that can come was printed.
func (ws *worlds) drained() bool {
	for _, w := range ws.all {
		if !w.drained {
			return false
		}
	}
	return true
}

// knowNames notes the live hosts' own names, for hints of spawns.
func (ws *worlds) knowNames(ready overlay.Ready) {
	ws.names = map[string]job.HostIndex{}
	for _, n := range ready.Live {
		if _, taken := ws.names[n.HostName]; taken {
			ws.names[n.HostName] = job.NoHost
			continue
		}
		ws.names[n.HostName] = n.Index
	}
	maps.DeleteFunc(ws.names, func(_ string, h job.HostIndex) bool { return h == job.NoHost })
}

package agent

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
)

// startRanks hands the ranks of a world to the warden, unless the job was killed
// meanwhile.
func (a *Agent) startRanks(w *world) {
	switch {
	case w.launched:
		return
	case a.end.Killed() || a.end.WardenGone() || w.killed:
		a.neverStart(w)
		return
	case !w.mpi.Ready():
		return
	}
	// With fewer it may go well still: ranks that end make room for others.
	a.tooFew = unix.NeedFiles(a.openFiles(), fmt.Sprintf("the agent of %d ranks", a.end.Living()))
	if !w.opened { // servers know where ranks are bound
		err := a.network.err
		if err == nil {
			var first job.Rank
			if first, err = w.mpi.Lacks(); err != nil {
				err = &placeError{first, err}
			}
		}
		if err == nil {
			err = a.giveParts(w, os.DirFS("/"), os.Environ())
		}
		if err != nil {
			a.cannotStart(w, err)
			return
		}
	}
	if !a.openServers(w) {
		return
	}
	w.launched = true
	a.end.RanksHanded(w.unborn)
	l := a.launch
	spec := proc.Spec{Env: slices.Concat(bindingEnv(w), a.addressEnv(w), l.Env, a.nodeEnv(w)), Umask: l.Umask, Rlimits: l.Rlimits, Socket: w.socket}
	for i := range w.Apps {
		app := a.programOf(w, i)
		app.Env = w.mpi.Env(i)
		spec.Apps = append(spec.Apps, app)
	}
	children := make([]proc.Child, len(w.ranks))
	counters := a.openCounters(w)
	for i, r := range w.ranks {
		n, local := strconv.Itoa(int(r.Number)), strconv.Itoa(i)
		children[i] = proc.Child{
			World: w.id, Rank: r.Number, App: r.App,
			Terminal: a.terminalOf(w, r.Number),
			CPUs:     r.cpus, Unbuffered: l.Unbuffered,
			Env: []string{"PMI_RANK=" + n, "RANK=" + n, "ROLE_RANK=" + n, "MPI_LOCALRANKID=" + local, "LOCAL_RANK=" + local},
		}
		children[i].StdinPipe = children[i].Terminal == nil && w.id == 0 && (l.StdinRank == overlay.StdinAll || l.StdinRank == r.Number)
		children[i].Env = append(children[i].Env, l.Names.OfRank(n, local)...)
		children[i].Env = append(children[i].Env, r.gpuEnv...)
		for _, s := range w.all {
			children[i].Env = append(children[i].Env, s.Env(&r.Rank)...)
		}
		if counters != nil {
			children[i].Env = append(children[i].Env, counters.env(i))
		}
	}
	if err := a.warden.Launch(job.Cold, spec, children); err != nil {
		a.wardenLost(err)
		return
	}
	w.mpi.Started()
}

// neverStart counts the ranks of a world that is not launched as ended.
func (a *Agent) neverStart(w *world) {
	w.launched = true
	w.ended.Merge(overlay.Done{Ended: w.unborn, Never: w.unborn})
	waited := w.unborn
	w.unborn, w.living = 0, 0
	defer a.allBorn()
	for _, r := range w.ranks {
		r.Exited = true
		a.shutInput(r)
	}
	a.output.Complete(w.id)
	a.startedIf(w, w.started.Add(w.own))
	a.settle(w)
	a.do(a.end.RanksNever(waited, a.output.Quiet()))
}

// openFiles is how many files an agent may have open once its ranks run: two pipes of
// each, what servers need, the pipes of those that read standard input, and those for
// the answers to those that ask when MPI begins, its links, and some of its own.
func (a *Agent) openFiles() uint64 {
	const perLink, pipes = 4, 2
	n := ownFiles + perLink*a.subtree.Degree()
	if a.input != nil {
		n += a.input.Readers()
	}
	for _, w := range a.worlds {
		if w.living == 0 {
			continue
		}
		n += pipes*w.living + w.mpi.Files()
		for _, s := range w.all {
			perRank, more := s.Files()
			n += perRank*w.living + more
		}
	}
	return uint64(n)
}

// noRank reports why no rank that waits can start on this node.
func (a *Agent) noRank(f job.Failure) {
	f.Rank, f.Host = -1, a.self.Index
	a.fail(f)
	for _, w := range a.worlds {
		if w.launched {
			continue
		}
		w.launched = true
		a.end.RanksHanded(w.unborn)
		for _, r := range w.ranks {
			a.rankBorn(w)
			a.rankEnded(r, a.outcome(r, true, a.end.Killed()))
		}
	}
}

// nodeEnv is what every rank of this node is told about its world and node.
func (a *Agent) nodeEnv(w *world) []string {
	size, local := strconv.Itoa(w.Size), strconv.Itoa(len(w.ranks))
	group := strconv.Itoa(slices.Index(w.nodes, a.self.Index))
	env := []string{
		"PMI_SIZE=" + size, "MPI_LOCALNRANKS=" + local,
		"WORLD_SIZE=" + size, "LOCAL_WORLD_SIZE=" + local,
		"GOLAUNCH_NODEID=" + strconv.Itoa(int(a.node)),
		"GROUP_RANK=" + group, "GROUP_WORLD_SIZE=" + strconv.Itoa(len(w.nodes)),
		"ROLE_NAME=default", "ROLE_WORLD_SIZE=" + size,
	}
	env = append(env, a.launch.Names.OfNode(size, local, group, a.self.Name)...)
	env = append(env, networkEnv(w, a.self.Index)...)
	for _, s := range w.all {
		env = append(env, s.Env(nil)...)
	}
	if a.scratch != "" {
		env = append(env, "GOLAUNCH_STAGE_DIR="+a.scratch)
	}
	if w.Spawner != "" {
		env = append(env, "PMI_SPAWNED=1")
	}
	return env
}

// networkEnv is what the ranks of a host are told of the network between the job's
// hosts: its levels of switches, 0 where they are not known, and the host's switch
// cluster at each of them from the top [Subramoni 5.2].
func networkEnv(w *world, host job.HostIndex) []string {
	env := []string{"GOLAUNCH_TOPO_DEPTH=" + strconv.Itoa(w.Depth)}
	if w.Depth == 0 {
		return env
	}
	var numbers []string
	node, _ := slices.BinarySearch(w.nodes, host) // it holds ranks
	for _, c := range w.ClustersOf(job.NodeID(node)) {
		numbers = append(numbers, strconv.Itoa(c))
	}
	return append(env, "GOLAUNCH_TOPO_CLUSTERS="+strings.Join(numbers, ","))
}

// rankOf finds the local rank that an event of the warden is about. Its world
// is not over while it lives.
func (a *Agent) rankOf(world int, r job.Rank) *rank { return a.worlds[world].byRank[r] }

// startFailed notes why a rank does not run. For a spawned world that is the
// answer to the spawn; for the first it is the end of the job.
func (a *Agent) startFailed(e proc.StartFailed) {
	r := a.rankOf(e.World, e.Rank)
	switch {
	case e.Provoked:
	case e.World > 0:
		r.world.own.Fail(overlay.StartFailure{Host: a.self.Index, First: e.Rank, Count: 1, Code: e.Code, Text: e.Text})
	default:
		a.fail(job.Failure{Class: job.CauseStart, Rank: e.Rank, Host: a.self.Index, Code: e.Code, Phase: "start", Text: e.Text})
	}
	a.rankBorn(r.world)
	if e.World > 0 {
		a.rankEnded(r, overlay.Done{Ended: 1, Never: 1})
	} else {
		a.rankEnded(r, a.outcome(r, true, a.end.Killed()))
	}
}

func (a *Agent) rankStarted(e proc.Started) {
	r := a.rankOf(e.World, e.Rank)
	r.PID, a.byPID[e.PID] = e.PID, r
	a.recordStart(r, e)
	r.world.own.Ranks++
	errs := []error{a.output.Add(r.id(), stdio.Stdout, e.Stdout)}
	if e.Stderr >= 0 {
		errs = append(errs, a.output.Add(r.id(), stdio.Stderr, e.Stderr))
	}
	errs = append(errs, r.world.giveSocket(r, e.PMI))
	for _, err := range errs {
		if err != nil {
			a.nodeFailed("start", err)
		}
	}
	if e.Stdin >= 0 {
		a.openReader(r, e.Stdin)
	}
	a.born(r.PID)
	a.rankBorn(r.world)
}

// nodeFailed reports what this node can't go on without.
func (a *Agent) nodeFailed(phase string, err error) {
	a.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: a.self.Index, Phase: phase, Text: err.Error()})
}

func (a *Agent) rankBorn(w *world) {
	if w.unborn--; w.unborn == 0 {
		defer a.allBorn()
		a.stamp(w, phaseStarted)
		a.output.Complete(w.id)
		a.startedIf(w, w.started.Add(w.own))
	}
}

// rankExited classifies the end of a rank, after reading what it last said
// over PMI.
func (a *Agent) rankExited(e proc.Exited) {
	r := a.rankOf(e.World, e.Rank)
	if r.Exited {
		return
	}
	a.recordEnd(r, e)
	r.world.hear(&r.Rank)
	if !e.Status.Signaled() { // else it may not have come to ask
		r.world.mpi.ExplainSilence(&r.Rank)
	}
	f := job.Failure{Phase: r.world.phase(&r.Rank)}
	ok := !e.Status.Signaled() && e.Status.ExitStatus() == 0
	provoked := e.Provoked || r.world.killed
	var judged *job.Failure
	if !r.Aborted && !provoked {
		judged = r.world.judge(r, ok)
	}
	if ok && judged == nil && !provoked {
		judged = r.world.mpi.Alone(&r.Rank)
	}
	switch {
	case r.Aborted: // reported when it said so
		a.rankEnded(r, overlay.Done{Failed: 1})
		return
	case provoked, ok && judged == nil: // nobody asks why what was told to end has ended
		d := a.outcome(r, false, e.Provoked)
		if e.Cut {
			d.Cut = d.Ended
		}
		a.rankEnded(r, d)
		return
	case judged != nil:
		judged.Phase = cmp.Or(judged.Phase, f.Phase)
		f = *judged
	case e.Status.Signaled():
		f.Class, f.Signal = job.CauseSignal, int(e.Status.Signal())
		f.Text = e.Killer
		switch {
		case !e.Status.CoreDump():
		case f.Text == "":
			f.Text = "core dumped"
		default:
			f.Text += ", core dumped"
		}
	default:
		f.Class, f.Code = job.CauseExit, e.Status.ExitStatus()
		f.Finalized = r.world.pmi.Finalised(&r.Rank) || r.world.pmix.Finalised(&r.Rank)
		if e.Killer != "" {
			f.Text = "a process that it started was killed: " + e.Killer
		}
	}
	f.World, f.Rank, f.Host, f.PID, f.Clock, f.Told = r.world.id, r.Number, a.self.Index, e.PID, e.Clock, r.Told
	a.report(f)
	a.rankEnded(r, a.outcome(r, true, e.Provoked))
}

// outcome counts one rank's end.
func (a *Agent) outcome(r *rank, failed, provoked bool) overlay.Done {
	switch {
	case provoked || r.world.killed:
		if r.PID == 0 {
			return overlay.Done{Ended: 1, Never: 1}
		}
		return overlay.Done{Ended: 1}
	case failed:
		return overlay.Done{Failed: 1}
	}
	return overlay.Done{Ranks: 1}
}

// rankEnded counts a rank out. After the last one of the node, what the ranks
// left behind has a moment to finish writing.
func (a *Agent) rankEnded(r *rank, d overlay.Done) {
	w := r.world
	r.Exited = true
	if a.byPID[r.PID] == r {
		delete(a.byPID, r.PID) // it may be another's soon
	}
	r.recordOutcome(d)
	a.shutInput(r)
	for _, s := range w.all {
		s.Ended(&r.Rank)
	}
	if a.end.WardenGone() {
		return // it was counted out with its warden
	}
	w.ended.Merge(d)
	if w.living--; w.living == 0 {
		a.stamp(w, phaseEnded)
	}
	a.do(a.end.RankEnded(w.living == 0, a.output.Quiet()))
}

package agent

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stdio"
)

// killSignal ends a rank at once.
const killSignal = syscall.SIGKILL

// lingerTime is how long processes that a rank left behind may go on writing
// to its output once every local rank has ended.
const lingerTime = 500 * time.Millisecond

// wardenUp takes the warden in; the launch may have come before it.
func (a *Agent) wardenUp(w wardenUp) {
	if w.err != nil {
		a.unfitFor(w.err)
		return
	}
	a.warden = w.warden
	a.tracing.warden.End = a.now()
	a.beat()
	go func() { // ends with the warden
		for {
			events, err := w.warden.Next()
			if err != nil {
				a.inbox.Put(wardenLost{err})
				return
			}
			a.inbox.Put(wardenEvents{events})
		}
	}()
	if a.finished {
		a.warden.Finish()
		return
	}
	if a.stopped {
		if err := a.warden.Signal(syscall.SIGSTOP); err != nil {
			a.wardenLost(err)
			return
		}
	}
	a.startIf()
}

// startRanks hands the ranks of a world to the warden, unless the job was killed
// meanwhile.
func (a *Agent) startRanks(w *world) {
	switch {
	case w.launched:
		return
	case a.killed || a.wardenGone:
		a.neverStart(w)
		return
	}
	w.launched = true
	// With fewer it may go well still: ranks that end make room for others.
	a.tooFew = unix.NeedFiles(a.openFiles(), fmt.Sprintf("the agent of %d ranks", a.living))
	l := a.launch
	if l.PMIPort {
		var err error
		if w.port, err = openPMIPort(len(w.ranks), a.inbox); err != nil {
			a.nodeFailed("start", err)
			a.parentLost()
			return
		}
	}
	if l.PMGR && w == a.first {
		if err := a.openPMGR(w); err != nil {
			a.nodeFailed("start", err)
			a.parentLost()
			return
		}
	}
	spec := proc.Spec{Env: append(slices.Clone(l.Env), a.nodeEnv(w)...), Umask: l.Umask, Rlimits: l.Rlimits}
	for i, app := range w.Apps {
		env := app.Env
		if slices.ContainsFunc(w.ranks, func(r *rank) bool { return r.app == i }) {
			env = append(a.openMPIEnv(w, i), env...)
		}
		spec.Apps = append(spec.Apps, proc.App{Argv: a.program(w, i), Env: env, Dir: app.Dir, DirGiven: app.DirGiven, Path: app.Path})
	}
	children := make([]proc.Child, len(w.ranks))
	for i, r := range w.ranks {
		n, local := strconv.Itoa(int(r.rank)), strconv.Itoa(i)
		children[i] = proc.Child{
			World: w.id, Rank: r.rank, App: r.app,
			StdinPipe: w.id == 0 && (l.StdinRank == overlay.StdinAll || l.StdinRank == r.rank),
			Env:       []string{"PMI_RANK=" + n, "RANK=" + n, "MPI_LOCALRANKID=" + local, "LOCAL_RANK=" + local},
		}
		if w.port != nil {
			children[i].Env = append(children[i].Env, "PMI_ID="+n)
		}
		if a.pmgr != nil && w == a.first {
			children[i].Env = append(children[i].Env, "MPIRUN_RANK="+n)
		}
	}
	if err := a.warden.Launch(spec, children); err != nil {
		a.wardenLost(err)
		return
	}
	a.lookLater(w, firstLook)
}

// neverStart counts the ranks of a world that is not launched as ended.
func (a *Agent) neverStart(w *world) {
	w.launched = true
	w.ended.Ended += w.unborn
	a.living -= w.unborn
	w.unborn, w.living = 0, 0
	for _, r := range w.ranks {
		r.exited = true
		a.shutInput(r)
	}
	a.output.complete(w.id)
	a.startedIf(w, w.started.Add(w.own))
	a.settle(w)
}

// openFiles is how many files an agent has open once its ranks run: two pipes
// and a socket of each, the pipes of those that read standard input, its links,
// and some of its own.
func (a *Agent) openFiles() uint64 {
	const perLink, perRank = 4, 3
	n := ownFiles + perLink*a.family.Degree() + perRank*a.living
	if a.input != nil {
		n += len(a.input.local)
	}
	if a.launch.PMGR {
		n += 2*len(a.first.ranks) + moreCallers + 1
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
		for _, r := range w.ranks {
			a.rankBorn(w)
			a.rankEnded(r, a.outcome(r, true))
		}
	}
}

// nodeEnv is what every rank of this node is told about its world and node.
func (a *Agent) nodeEnv(w *world) []string {
	size, local := strconv.Itoa(w.Size), strconv.Itoa(len(w.ranks))
	addr := a.address()
	connection := "PMI_FD=3"
	if w.port != nil {
		connection = "PMI_PORT=" + w.port.address()
	}
	env := []string{
		connection, "PMI_SIZE=" + size, "MPI_LOCALNRANKS=" + local,
		"PMI_HOSTNAME=" + addr, "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=" + addr,
		"WORLD_SIZE=" + size, "LOCAL_WORLD_SIZE=" + local,
		"GOLAUNCH_NODEID=" + strconv.Itoa(int(a.node)),
	}
	if w == a.first && a.service.shared >= 0 {
		env = append(env, "GOLAUNCH_FD="+strconv.Itoa(proc.SharedFD))
	}
	if a.pmgr != nil && w == a.first {
		env = append(env, a.pmgr.env(w)...)
	}
	if a.scratch != "" {
		env = append(env, "GOLAUNCH_STAGE_DIR="+a.scratch)
	}
	if w.Spawner != "" {
		env = append(env, "PMI_SPAWNED=1")
	}
	return env
}

func (a *Agent) wardenEvents(events []proc.Event) {
	// Of several ends that one batch brings, the one that explains most is
	// reported first (design section 7).
	slices.SortStableFunc(events, func(x, y proc.Event) int { return eventOrder(x) - eventOrder(y) })
	a.unanswered = 0
	for _, e := range events {
		switch e := e.(type) {
		case proc.Started:
			a.rankStarted(e)
		case proc.StartFailed:
			a.startFailed(e)
		case proc.Gone:
			if e.Text != "" {
				a.note(0, "%s", e.Text)
			}
			a.cleaned()
		case proc.Exited:
			a.rankExited(e)
		case proc.Note:
			a.note(e.Level, "%s", e.Text)
		}
	}
}

// eventOrder sorts starts before ends, signals before exits, and Gone last.
func eventOrder(e proc.Event) int {
	switch x := e.(type) {
	case proc.Gone:
		return 4
	case proc.Exited:
		switch {
		case x.Status.Signaled():
			return 1
		case x.Status.ExitStatus() != 0:
			return 2
		}
		return 3
	}
	return 0
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
		a.rankEnded(r, overlay.Done{Ended: 1})
	} else {
		a.rankEnded(r, a.outcome(r, true))
	}
}

func (a *Agent) rankStarted(e proc.Started) {
	r := a.rankOf(e.World, e.Rank)
	r.pid = e.PID
	a.recordStart(r, e)
	r.world.own.Ranks++
	errs := []error{
		a.output.add(r.id(), stdio.Stdout, e.Stdout),
		a.output.add(r.id(), stdio.Stderr, e.Stderr),
	}
	if r.world.port != nil {
		unix.Close(e.PMI) // the rank will call
	} else {
		errs = append(errs, a.addPMI(r, e.PMI))
	}
	for _, err := range errs {
		if err != nil {
			a.nodeFailed("start", err)
		}
	}
	if e.Stdin >= 0 {
		a.openReader(r, e.Stdin)
	}
	a.rankBorn(r.world)
}

// nodeFailed reports what this node can't go on without.
func (a *Agent) nodeFailed(phase string, err error) {
	a.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: a.self.Index, Phase: phase, Text: err.Error()})
}

func (a *Agent) rankBorn(w *world) {
	if w.unborn--; w.unborn == 0 {
		a.stamp(w, phaseStarted)
		a.output.complete(w.id)
		a.startedIf(w, w.started.Add(w.own))
	}
}

// rankExited classifies the end of a rank, after reading what it last said
// over PMI.
func (a *Agent) rankExited(e proc.Exited) {
	r := a.rankOf(e.World, e.Rank)
	if r.exited {
		return
	}
	a.recordEnd(r, e)
	a.drainPMI(r)
	a.drainPMGR(r)
	a.explainSilence(r)
	f := job.Failure{World: r.world.id, Rank: r.rank, Host: a.self.Index, PID: e.PID, Phase: a.phase(r)}
	failed := true
	switch {
	case r.aborted: // reported when it said so
		a.rankEnded(r, overlay.Done{Failed: 1})
		return
	case r.world.killed:
	case r.words != nil && (e.Status.Signaled() || e.Status.ExitStatus() != 0):
		a.pmgrAborts(r, r.words)
	case e.Status.Signaled():
		f.Class, f.Signal = job.CauseSignal, int(e.Status.Signal())
		if e.Status.CoreDump() {
			f.Text = "core dumped"
		}
		a.fail(f)
	case e.Status.ExitStatus() != 0:
		f.Class, f.Code = job.CauseExit, e.Status.ExitStatus()
		a.fail(f)
	case r.world.pmi.Initialised(r.rank) && !r.world.pmi.Finalised(r.rank):
		f.Class = job.CauseNoFinalize
		a.fail(f)
	default:
		a.endedPMGR(r)
		failed = r.aborted
	}
	a.rankEnded(r, a.outcome(r, failed))
}

// phase says how far a rank had come. A program that never spoke PMI may not
// be one of MPI at all.
func (a *Agent) phase(r *rank) string {
	if !r.world.pmi.Initialised(r.rank) {
		return "running"
	}
	return r.world.pmi.Phase(r.rank).String()
}

// outcome counts one rank's end.
func (a *Agent) outcome(r *rank, failed bool) overlay.Done {
	switch {
	case a.killed || r.world.killed:
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
	r.exited = true
	r.recordOutcome(d)
	w.ended.Merge(d)
	a.shutInput(r)
	a.endedService(r)
	a.living--
	if w.living--; w.living == 0 {
		a.stamp(w, phaseEnded)
	}
	switch {
	case a.living == 0:
		a.linger()
	case w.living == 0:
		a.settle(w)
	}
}

// signal passes a signal on to the local ranks. A stop holds for ranks that are
// still to come, too: the launch, which has a stream of its own, may be overtaken.
func (a *Agent) signal(s overlay.Signal) error {
	if s.Number < 1 || s.Number > 64 {
		return fmt.Errorf("signal %d does not exist", s.Number)
	}
	sig := syscall.Signal(s.Number)
	holds := sig == syscall.SIGSTOP || sig == syscall.SIGCONT
	if holds {
		a.stopped = sig == syscall.SIGSTOP
	}
	if a.warden != nil && !a.wardenGone && (a.living > 0 || holds) {
		if err := a.warden.Signal(sig); err != nil {
			a.wardenLost(err)
		}
	}
	return nil
}

// kill ends the local ranks. Ranks not started yet never will be.
func (a *Agent) kill(grace time.Duration) {
	if a.killed && grace > 0 {
		return
	}
	a.killed = true
	if a.awaiting { // no rank was started
		a.awaiting = false
		a.files.abandon()
		a.startIf()
		return
	}
	if a.warden != nil && a.living > 0 {
		if err := a.warden.Kill(grace); err != nil {
			a.wardenLost(err)
		}
		a.watchWarden(grace)
	}
}

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
func (j *Job) startRanks(w *world) {
	switch {
	case w.launched:
		return
	case j.end.Killed() || j.node.End().WardenGone() || w.killed:
		j.neverStart(w)
		return
	case !w.mpi.Ready():
		return
	}
	// With fewer it may go well still: ranks that end make room for others.
	j.tooFew = unix.NeedFiles(j.openFiles(), fmt.Sprintf("the agent of %d ranks", j.end.Living()))
	if !w.servers.opened { // servers know where ranks are bound
		err := j.env.network.err
		if err == nil {
			var first job.Rank
			if first, err = w.mpi.Lacks(); err != nil {
				err = &placeError{first, err}
			}
		}
		if err == nil {
			err = j.placing.giveParts(w, os.DirFS("/"), os.Environ())
		}
		if err != nil {
			j.cannotStart(w, err)
			return
		}
	}
	if !j.openServers(w) {
		return
	}
	w.launched = true
	j.end.RanksHanded(w.unborn)
	l := j.launch
	spec := proc.Spec{Env: slices.Concat(bindingEnv(w), j.env.addressEnv(w), l.Env, j.env.nodeEnv(w)), Umask: l.Umask, Rlimits: l.Rlimits, Socket: w.servers.socket}
	for i := range w.spec.Apps {
		app := j.staging.programOf(w, i)
		app.Env = w.mpi.Env(i)
		spec.Apps = append(spec.Apps, app)
	}
	children := make([]proc.Child, len(w.ranks))
	counters := j.profiling.open(w)
	for i, r := range w.ranks {
		n, local := strconv.Itoa(int(r.Number)), strconv.Itoa(i)
		children[i] = proc.Child{
			World: w.id, Rank: r.Number, App: r.App,
			Terminal: j.stdin.terminalOf(w, r.Number),
			CPUs:     r.cpus, Unbuffered: l.Unbuffered,
			Env: []string{"PMI_RANK=" + n, "RANK=" + n, "ROLE_RANK=" + n, "MPI_LOCALRANKID=" + local, "LOCAL_RANK=" + local},
		}
		children[i].StdinPipe = j.stdin.piped(w, r.Number)
		children[i].Env = append(children[i].Env, l.Names.OfRank(n, local)...)
		children[i].Env = append(children[i].Env, r.gpuEnv...)
		for _, s := range w.servers.all {
			children[i].Env = append(children[i].Env, s.Env(&r.Rank)...)
		}
		if counters != nil {
			children[i].Env = append(children[i].Env, counters.env(i))
		}
	}
	if err := j.node.Warden().Launch(job.Cold, spec, children); err != nil {
		j.node.WardenLost(err)
		return
	}
	w.mpi.Started()
}

// neverStart counts the ranks of a world that is not launched as ended.
func (j *Job) neverStart(w *world) {
	w.launched = true
	w.ended.Merge(overlay.Done{Ended: w.unborn, Never: w.unborn})
	waited := w.unborn
	w.unborn, w.living = 0, 0
	defer j.owners.allBorn()
	for _, r := range w.ranks {
		r.Exited = true
		j.stdin.shut(r)
	}
	j.node.Output().Complete(w.id)
	j.startedIf(w, w.started.Add(w.own))
	j.settle(w)
	j.do(j.end.RanksNever(j.node.End(), waited, j.node.Output().Quiet()))
}

// openFiles is how many files an agent may have open once its ranks run: two pipes of
// each, what servers need, the pipes of those that read standard input, and those for
// the answers to those that ask when MPI begins, its links, and some of its own.
func (j *Job) openFiles() uint64 {
	const perLink, pipes = 4, 2
	n := ownFiles + perLink*j.node.Subtree().Degree()
	if j.stdin.input != nil {
		n += j.stdin.input.Readers()
	}
	for _, w := range j.worlds {
		if w.living == 0 {
			continue
		}
		n += pipes*w.living + w.mpi.Files()
		for _, s := range w.servers.all {
			perRank, more := s.Files()
			n += perRank*w.living + more
		}
	}
	return uint64(n)
}

// noRank reports why no rank that waits can start on this node.
func (j *Job) noRank(f job.Failure) {
	f.Rank, f.Host = -1, j.node.Self().Index
	j.failures.fail(f)
	for _, w := range j.worlds {
		if w.launched {
			continue
		}
		w.launched = true
		j.end.RanksHanded(w.unborn)
		for _, r := range w.ranks {
			j.rankBorn(w)
			j.rankEnded(r, j.outcome(r, true, j.end.Killed()))
		}
	}
}

// nodeEnv is what every rank of this node is told about its world and node.
func (re *rankEnv) nodeEnv(w *world) []string {
	size, local := strconv.Itoa(w.spec.Size), strconv.Itoa(len(w.ranks))
	group := strconv.Itoa(slices.Index(w.nodes, re.j.node.Self().Index))
	env := []string{
		"PMI_SIZE=" + size, "MPI_LOCALNRANKS=" + local,
		"WORLD_SIZE=" + size, "LOCAL_WORLD_SIZE=" + local,
		"GOLAUNCH_NODEID=" + strconv.Itoa(int(re.j.nodeID)),
		"GROUP_RANK=" + group, "GROUP_WORLD_SIZE=" + strconv.Itoa(len(w.nodes)),
		"ROLE_NAME=default", "ROLE_WORLD_SIZE=" + size,
	}
	env = append(env, re.j.launch.Names.OfNode(size, local, group, re.j.node.Self().Name)...)
	env = append(env, networkEnv(w, re.j.node.Self().Index)...)
	for _, s := range w.servers.all {
		env = append(env, s.Env(nil)...)
	}
	if re.j.staging.scratch != "" {
		env = append(env, "GOLAUNCH_STAGE_DIR="+re.j.staging.scratch)
	}
	if w.spec.Spawner != "" {
		env = append(env, "PMI_SPAWNED=1")
	}
	return env
}

// networkEnv is what the ranks of a host are told of the network between the job's
// hosts: its levels of switches, 0 where they are not known, and the host's switch
// cluster at each of them from the top [Subramoni 5.2].
func networkEnv(w *world, host job.HostIndex) []string {
	env := []string{"GOLAUNCH_TOPO_DEPTH=" + strconv.Itoa(w.spec.Depth)}
	if w.spec.Depth == 0 {
		return env
	}
	var numbers []string
	node, _ := slices.BinarySearch(w.nodes, host) // it holds ranks
	for _, c := range w.spec.ClustersOf(job.NodeID(node)) {
		numbers = append(numbers, strconv.Itoa(c))
	}
	return append(env, "GOLAUNCH_TOPO_CLUSTERS="+strings.Join(numbers, ","))
}

// rankOf finds the local rank that an event of the warden is about. Its world
// is not over while it lives.
func (j *Job) rankOf(world int, r job.Rank) *rank { return j.worlds[world].byRank[r] }

// startFailed notes why a rank does not run. For a spawned world that is the
// answer to the spawn; else it is the end of the job.
func (j *Job) startFailed(e proc.StartFailed) {
	r := j.rankOf(e.World, e.Rank)
	switch {
	case e.Provoked:
	case r.world.spawned:
		r.world.own.Fail(overlay.StartFailure{Host: j.node.Self().Index, First: e.Rank, Count: 1, Code: e.Code, Text: e.Text})
	default:
		j.failures.fail(job.Failure{Class: job.CauseStart, Rank: e.Rank, Host: j.node.Self().Index, Code: e.Code, Phase: "start", Text: e.Text})
	}
	j.rankBorn(r.world)
	if r.world.spawned {
		j.rankEnded(r, overlay.Done{Ended: 1, Never: 1})
	} else {
		j.rankEnded(r, j.outcome(r, true, j.end.Killed()))
	}
}

func (j *Job) rankStarted(e proc.Started) {
	r := j.rankOf(e.World, e.Rank)
	r.PID, j.owners.byPID[e.PID] = e.PID, r
	r.recordStart(e)
	r.world.own.Ranks++
	errs := []error{j.node.Output().Add(r.id(), stdio.Stdout, e.Stdout)}
	if e.Stderr >= 0 {
		errs = append(errs, j.node.Output().Add(r.id(), stdio.Stderr, e.Stderr))
	}
	errs = append(errs, r.world.giveSocket(r, e.PMI))
	for _, err := range errs {
		if err != nil {
			j.failures.nodeFailed("start", err)
		}
	}
	if e.Stdin >= 0 {
		j.stdin.open(r, e.Stdin)
	}
	j.owners.born(r.PID)
	j.rankBorn(r.world)
}

// nodeFailed reports what this node can't go on without.
func (fl *reporting) nodeFailed(phase string, err error) {
	fl.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: fl.j.node.Self().Index, Phase: phase, Text: err.Error()})
}

func (j *Job) rankBorn(w *world) {
	if w.unborn--; w.unborn == 0 {
		defer j.owners.allBorn()
		j.accounts.stamp(w, phaseStarted)
		j.node.Output().Complete(w.id)
		j.startedIf(w, w.started.Add(w.own))
	}
}

// rankExited classifies the end of a rank, after reading what it last said
// over PMI.
func (j *Job) rankExited(e proc.Exited) {
	r := j.rankOf(e.World, e.Rank)
	if r.Exited {
		return
	}
	r.recordEnd(e)
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
		j.rankEnded(r, overlay.Done{Failed: 1})
		return
	case provoked, ok && judged == nil: // nobody asks why what was told to end has ended
		d := j.outcome(r, false, e.Provoked)
		if e.Cut {
			d.Cut = d.Ended
		}
		j.rankEnded(r, d)
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
		f.Finalized = r.world.servers.pmi.Finalised(&r.Rank) || r.world.servers.pmix.Finalised(&r.Rank)
		if e.Killer != "" {
			f.Text = "a process that it started was killed: " + e.Killer
		}
	}
	f.World, f.Rank, f.Host, f.PID, f.Clock, f.Told = r.world.id, r.Number, j.node.Self().Index, e.PID, e.Clock, r.Told
	j.failures.report(f)
	j.rankEnded(r, j.outcome(r, true, e.Provoked))
}

// outcome counts one rank's end.
func (j *Job) outcome(r *rank, failed, provoked bool) overlay.Done {
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
func (j *Job) rankEnded(r *rank, d overlay.Done) {
	w := r.world
	r.Exited = true
	if j.owners.byPID[r.PID] == r {
		delete(j.owners.byPID, r.PID) // it may be another's soon
	}
	r.recordOutcome(d)
	j.stdin.shut(r)
	for _, s := range w.servers.all {
		s.Ended(&r.Rank)
	}
	if j.node.End().WardenGone() {
		return // it was counted out with its warden
	}
	w.ended.Merge(d)
	if w.living--; w.living == 0 {
		j.accounts.stamp(w, phaseEnded)
	}
	j.do(j.end.RankEnded(j.node.End(), w.living == 0, j.node.Output().Quiet()))
}

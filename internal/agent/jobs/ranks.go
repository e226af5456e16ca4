package jobs

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/stdio"
)

// ranks starts the local ranks of a job, and hears how they end.
type ranks struct{ j *Job }

// start hands the ranks of a world to the warden, unless the job was killed
// meanwhile.
func (rs *ranks) start(w *world) {
	switch {
	case w.launched:
		return
	case rs.j.end.Killed() || rs.j.node.End().WardenGone() || w.killed:
		rs.neverStart(w)
		return
	case !w.mpi.Ready():
		return
	}
	// With fewer it may go well still: ranks that end make room for others.
	rs.j.node.NeedFiles(rs.openFiles())
	if !w.servers.opened { // servers know where ranks are bound
		err := rs.j.env.network.err
		if err == nil {
			var first job.Rank
			if first, err = w.mpi.Lacks(); err != nil {
				err = &placeError{first, err}
			}
		}
		if err == nil {
			err = rs.j.placing.giveParts(w, os.DirFS("/"), os.Environ())
		}
		if err != nil {
			rs.cannotStart(w, err)
			return
		}
	}
	if !rs.j.serving.open(w) {
		return
	}
	w.launched = true
	rs.j.end.RanksHanded(w.unborn)
	l := rs.j.launch
	spec := proc.Spec{Env: slices.Concat(bindingEnv(w), rs.j.env.addressEnv(w), l.Env, rs.j.env.nodeEnv(w)), Umask: l.Umask, Rlimits: l.Rlimits, Socket: w.servers.socket}
	for i := range w.spec.Apps {
		app := rs.j.staging.programOf(w, i)
		app.Env = w.mpi.Env(i)
		spec.Apps = append(spec.Apps, app)
	}
	children := make([]proc.Child, len(w.ranks))
	counters := rs.j.profiling.open(w)
	for i, r := range w.ranks {
		n, local := strconv.Itoa(int(r.Number)), strconv.Itoa(i)
		children[i] = proc.Child{
			World: w.id, Rank: r.Number, App: r.App,
			Terminal: rs.j.stdin.terminalOf(w, r.Number),
			CPUs:     r.cpus, Unbuffered: l.Unbuffered,
			Env: []string{"PMI_RANK=" + n, "RANK=" + n, "ROLE_RANK=" + n, "MPI_LOCALRANKID=" + local, "LOCAL_RANK=" + local},
		}
		children[i].StdinPipe = rs.j.stdin.piped(w, r.Number)
		children[i].Env = append(children[i].Env, l.Names.OfRank(n, local)...)
		children[i].Env = append(children[i].Env, r.gpuEnv...)
		for _, s := range w.servers.all {
			children[i].Env = append(children[i].Env, s.Env(&r.Rank)...)
		}
		if counters != nil {
			children[i].Env = append(children[i].Env, counters.env(i))
		}
	}
	if err := rs.j.node.Warden().Launch(rs.j.number, spec, children); err != nil {
		rs.j.node.WardenLost(err)
		return
	}
	w.mpi.Started()
}

// neverStart counts the ranks of a world that is not launched as ended.
func (rs *ranks) neverStart(w *world) {
	w.launched = true
	w.ended.Merge(overlay.Done{Ended: w.unborn, Never: w.unborn})
	waited := w.unborn
	w.unborn, w.living = 0, 0
	defer rs.j.owners.allBorn()
	for _, r := range w.ranks {
		r.Exited = true
		rs.j.stdin.shut(r)
	}
	rs.j.output.Complete(w.id)
	rs.j.startedIf(w, w.started.Add(w.own))
	rs.j.settle(w)
	rs.j.Do(rs.j.end.RanksNever(rs.j.node.End(), waited, rs.j.output.Quiet()))
}

// openFiles counts the files that an agent may have open for the ranks once they run: two pipes
// of each, those of servers, the pipes of those that read standard input, and those for
// the answers to those that ask when MPI begins.
func (rs *ranks) openFiles() (n int) {
	const pipes = 2
	if rs.j.stdin.input != nil {
		n += rs.j.stdin.input.Readers()
	}
	for _, w := range rs.j.worlds {
		if w.living == 0 {
			continue
		}
		n += pipes*w.living + w.mpi.Files()
		for _, s := range w.servers.all {
			perRank, more := s.Files()
			n += perRank*w.living + more
		}
	}
	return n
}

// failAll reports why no rank that waits can start on this node.
func (rs *ranks) failAll(f job.Failure) {
	f.Rank, f.Host = -1, rs.j.node.Self().Index
	rs.j.failures.fail(f)
	for _, w := range rs.j.worlds {
		if w.launched {
			continue
		}
		w.launched = true
		rs.j.end.RanksHanded(w.unborn)
		for _, r := range w.ranks {
			rs.born(w)
			rs.ended(r, rs.outcome(r, true, rs.j.end.Killed()))
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

// of finds the local rank that an event of the warden is about. Its world
// is not over while it lives.
func (rs *ranks) of(world int, r job.Rank) *rank { return rs.j.worlds[world].byRank[r] }

// startFailed notes why a rank does not run. For a spawned world that is the
// answer to the spawn; else it is the end of the job.
func (rs *ranks) startFailed(e proc.StartFailed) {
	r := rs.of(e.World, e.Rank)
	switch {
	case e.Provoked:
	case r.world.spawned:
		r.world.own.Fail(overlay.StartFailure{Host: rs.j.node.Self().Index, First: e.Rank, Count: 1, Code: e.Code, Text: e.Text})
	default:
		rs.j.failures.fail(job.Failure{Class: job.CauseStart, Rank: e.Rank, Host: rs.j.node.Self().Index, Code: e.Code, Phase: "start", Text: e.Text})
	}
	rs.born(r.world)
	if r.world.spawned {
		rs.ended(r, overlay.Done{Ended: 1, Never: 1})
	} else {
		rs.ended(r, rs.outcome(r, true, rs.j.end.Killed()))
	}
}

func (rs *ranks) started(e proc.Started) {
	r := rs.of(e.World, e.Rank)
	r.PID, rs.j.owners.byPID[e.PID] = e.PID, r
	r.recordStart(e)
	r.world.own.Ranks++
	errs := []error{rs.j.output.Add(r.id(), stdio.Stdout, e.Stdout)}
	if e.Stderr >= 0 {
		errs = append(errs, rs.j.output.Add(r.id(), stdio.Stderr, e.Stderr))
	}
	errs = append(errs, r.world.giveSocket(r, e.PMI))
	for _, err := range errs {
		if err != nil {
			rs.j.failures.nodeFailed("start", err)
		}
	}
	if e.Stdin >= 0 {
		rs.j.stdin.open(r, e.Stdin)
	}
	rs.j.owners.born(r.PID)
	rs.born(r.world)
}

func (rs *ranks) born(w *world) {
	if w.unborn--; w.unborn == 0 {
		defer rs.j.owners.allBorn()
		rs.j.accounts.stamp(w, phaseStarted)
		rs.j.output.Complete(w.id)
		rs.j.startedIf(w, w.started.Add(w.own))
	}
}

// exited classifies the end of a rank, after reading what it last said
// over PMI.
func (rs *ranks) exited(e proc.Exited) {
	r := rs.of(e.World, e.Rank)
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
		rs.ended(r, overlay.Done{Failed: 1})
		return
	case provoked, ok && judged == nil: // nobody asks why what was told to end has ended
		d := rs.outcome(r, false, e.Provoked)
		if e.Cut {
			d.Cut = d.Ended
		}
		rs.ended(r, d)
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
	f.World, f.Rank, f.Host, f.PID, f.Clock, f.Told = r.world.id, r.Number, rs.j.node.Self().Index, e.PID, e.Clock, r.Told
	rs.j.failures.report(f)
	rs.ended(r, rs.outcome(r, true, e.Provoked))
}

// outcome counts one rank's end.
func (rs *ranks) outcome(r *rank, failed, provoked bool) overlay.Done {
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

// ended counts a rank out. After the last one of the node, what the ranks
// left behind has a moment to finish writing.
func (rs *ranks) ended(r *rank, d overlay.Done) {
	w := r.world
	r.Exited = true
	if rs.j.owners.byPID[r.PID] == r {
		delete(rs.j.owners.byPID, r.PID) // it may be another's soon
	}
	r.recordOutcome(d)
	rs.j.stdin.shut(r)
	for _, s := range w.servers.all {
		s.Ended(&r.Rank)
	}
	if rs.j.node.End().WardenGone() {
		return // it was counted out with its warden
	}
	w.ended.Merge(d)
	if w.living--; w.living == 0 {
		rs.j.accounts.stamp(w, phaseEnded)
	}
	rs.j.Do(rs.j.end.RankEnded(rs.j.node.End(), w.living == 0, rs.j.output.Quiet()))
}

package agent

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/stdio"
	"github.com/golaunch/golaunch/tree"
)

// lingerTime is how long processes that a rank left behind may go on writing
// to its output once every local rank has ended.
const lingerTime = 500 * time.Millisecond

// takeLaunch starts this node's ranks.
func (a *Agent) takeLaunch(l overlay.Launch) error {
	if a.launch != nil {
		return fmt.Errorf("a second launch message")
	}
	a.launch = &l
	a.node = job.NodeID(slices.Index(l.Nodes, a.self.Index))
	a.byRank = map[job.Rank]*rank{}
	for _, b := range l.Blocks {
		if b.Host != a.self.Index {
			continue
		}
		if b.App < 0 || b.App >= len(l.Apps) || b.Count < 0 || int(b.First)+b.Count > l.Size {
			return fmt.Errorf("launch message places ranks %d+%d of app %d", b.First, b.Count, b.App)
		}
		for i := range b.Count {
			r := &rank{rank: b.First + job.Rank(i), app: b.App, pmiFD: -1}
			a.ranks = append(a.ranks, r)
			a.byRank[r.rank] = r
		}
	}
	a.unborn, a.living = len(a.ranks), len(a.ranks)
	a.peers = slices.SortedFunc(a.family.Children, func(x, y tree.Slot) int {
		return int(a.family.Host(x).Index - a.family.Host(y).Index)
	})
	board, err := cache.New(cache.Config{
		Policy: l.Cache, Root: a.root, Children: len(a.peers), LocalRanks: len(a.ranks), Size: l.Size,
		World: l.KVSName, Nodes: len(l.Nodes), Node: a.node, Budget: l.CacheBytes,
		MaxMessage: tree.MaxMessage,
	})
	if err != nil {
		return err
	}
	a.board = board
	local := make([]job.Rank, len(a.ranks))
	for i, r := range a.ranks {
		local[i] = r.rank
	}
	a.pmi, err = pmi.NewServer(pmi.World{
		Size: l.Size, KVSName: l.KVSName, UniverseSize: -1, ProcessMapping: l.Mapping,
		AppNum: func(r job.Rank) int { return a.byRank[r].app },
	}, local)
	if err != nil {
		return err
	}
	if err := a.board.Start(&a.boardOut); err != nil {
		return err
	}
	a.boardEffects()
	if err := a.openInput(); err != nil {
		return err
	}
	if err := a.takeEarly(); err != nil {
		return err
	}
	if a.warden != nil || a.self.Relay() {
		a.startRanks()
	}
	return nil
}

// wardenUp takes the warden in; the launch may have come before it.
func (a *Agent) wardenUp(w wardenUp) {
	if w.err != nil {
		a.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: a.self.Index, Phase: "start warden", Text: w.err.Error()})
		a.parentLost()
		return
	}
	a.warden = w.warden
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
	switch {
	case a.finished:
		a.warden.Finish()
	case a.launch != nil:
		a.startRanks()
	}
}

// startRanks hands the ranks to the warden, or counts them as ended if the job
// was killed meanwhile.
func (a *Agent) startRanks() {
	if a.killed || len(a.ranks) == 0 {
		a.ended.Ended += a.unborn
		a.unborn, a.living = 0, 0
		a.shutAllInput()
		a.output.complete()
		a.startedIf(a.started.Add(overlay.Started{}))
		a.finishLocal()
		return
	}
	l := a.launch
	spec := proc.Spec{Env: append(slices.Clone(l.Env), a.nodeEnv()...), Umask: l.Umask, Rlimits: l.Rlimits}
	for _, app := range l.Apps {
		spec.Apps = append(spec.Apps, proc.App{Argv: app.Argv, Env: app.Env, Dir: app.Dir, DirGiven: app.DirGiven})
	}
	children := make([]proc.Child, len(a.ranks))
	for i, r := range a.ranks {
		n, local := strconv.Itoa(int(r.rank)), strconv.Itoa(i)
		children[i] = proc.Child{
			Rank: r.rank, App: r.app, StdinPipe: l.StdinRank == overlay.StdinAll || l.StdinRank == r.rank,
			Env: []string{"PMI_RANK=" + n, "RANK=" + n, "MPI_LOCALRANKID=" + local, "LOCAL_RANK=" + local},
		}
	}
	if err := a.warden.Launch(spec, children); err != nil {
		a.wardenLost(err)
	}
}

// nodeEnv is what every rank of this node is told about its world and node.
func (a *Agent) nodeEnv() []string {
	size, local := strconv.Itoa(a.launch.Size), strconv.Itoa(len(a.ranks))
	addr := a.address()
	return []string{
		"PMI_FD=3", "PMI_SIZE=" + size, "MPI_LOCALNRANKS=" + local,
		"PMI_HOSTNAME=" + addr, "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=" + addr,
		"WORLD_SIZE=" + size, "LOCAL_WORLD_SIZE=" + local,
		"GOLAUNCH_NODEID=" + strconv.Itoa(int(a.node)),
	}
}

func (a *Agent) wardenEvents(events []proc.Event) {
	// Of several ends that one batch brings, the one that explains most is
	// reported first (design section 7).
	slices.SortStableFunc(events, func(x, y proc.Event) int { return eventOrder(x) - eventOrder(y) })
	for _, e := range events {
		switch e := e.(type) {
		case proc.Started:
			a.rankStarted(e)
		case proc.StartFailed:
			if !e.Provoked {
				a.fail(job.Failure{Class: job.CauseStart, Rank: e.Rank, Host: a.self.Index, Code: e.Code, Phase: "start", Text: e.Text})
			}
			a.rankBorn()
			a.rankEnded(a.byRank[e.Rank], a.outcome(true))
		case proc.Exited:
			a.rankExited(e)
		case proc.Note:
			a.note(0, "%s", e.Text)
		}
	}
}

// eventOrder sorts starts before ends and signals before exits.
func eventOrder(e proc.Event) int {
	if x, ok := e.(proc.Exited); ok {
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

func (a *Agent) rankStarted(e proc.Started) {
	r := a.byRank[e.Rank]
	r.pid = e.PID
	for _, err := range []error{
		a.output.add(r.rank, stdio.Stdout, e.Stdout),
		a.output.add(r.rank, stdio.Stderr, e.Stderr),
		a.addPMI(r, e.PMI),
	} {
		if err != nil {
			a.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: a.self.Index, Phase: "start", Text: err.Error()})
		}
	}
	if e.Stdin >= 0 {
		a.input.local[r.rank].fd = e.Stdin
		a.poller.AddWrite(e.Stdin, a.tag(r, tagStdin))
		a.poller.Modify(e.Stdin, a.tag(r, tagStdin), false, false) // nothing to write yet
	}
	a.rankBorn()
}

func (a *Agent) rankBorn() {
	if a.unborn--; a.unborn == 0 {
		a.output.complete()
		a.startedIf(a.started.Add(overlay.Started{Ranks: len(a.ranks)}))
	}
}

// rankExited classifies the end of a rank, after reading what it last said
// over PMI.
func (a *Agent) rankExited(e proc.Exited) {
	r := a.byRank[e.Rank]
	if r.exited {
		return
	}
	a.drainPMI(r)
	f := job.Failure{Rank: r.rank, Host: a.self.Index, PID: e.PID, Phase: a.phase(r)}
	failed := true
	switch {
	case r.aborted: // reported when it said so
		a.rankEnded(r, overlay.Done{Failed: 1})
		return
	case e.Status.Signaled():
		f.Class, f.Signal = job.CauseSignal, int(e.Status.Signal())
		if e.Status.CoreDump() {
			f.Text = "core dumped"
		}
		a.fail(f)
	case e.Status.ExitStatus() != 0:
		f.Class, f.Code = job.CauseExit, e.Status.ExitStatus()
		a.fail(f)
	case a.pmi.Initialised(r.rank) && !a.pmi.Finalised(r.rank):
		f.Class = job.CauseNoFinalize
		a.fail(f)
	default:
		failed = false
	}
	a.rankEnded(r, a.outcome(failed))
}

// phase says how far a rank had come. A program that never spoke PMI may not
// be one of MPI at all.
func (a *Agent) phase(r *rank) string {
	if !a.pmi.Initialised(r.rank) {
		return "running"
	}
	return a.pmi.Phase(r.rank).String()
}

// outcome counts one rank's end.
func (a *Agent) outcome(failed bool) overlay.Done {
	switch {
	case a.killed:
		return overlay.Done{Ended: 1}
	case failed:
		return overlay.Done{Failed: 1}
	}
	return overlay.Done{Ranks: 1}
}

// rankEnded counts a rank out. After the last one, what the ranks left behind
// has a moment to finish writing.
func (a *Agent) rankEnded(r *rank, d overlay.Done) {
	r.exited = true
	a.ended.Merge(d)
	a.shutInput(r)
	a.living--
	if a.living == 0 {
		a.linger()
	}
}

func (a *Agent) signal(s overlay.Signal) error {
	if a.warden != nil && a.living > 0 {
		return a.warden.Signal(syscall.Signal(s.Number))
	}
	return nil
}

// kill ends the local ranks. Ranks not started yet never will be.
func (a *Agent) kill(grace time.Duration) {
	if a.killed && grace > 0 {
		return
	}
	a.killed = true
	if a.warden != nil && a.living > 0 {
		if err := a.warden.Kill(grace); err != nil {
			a.wardenLost(err)
		}
		a.watchWarden(grace)
	}
}

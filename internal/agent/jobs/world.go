package jobs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// manyRanks is how many ranks of one node keep more than one processor busy
// with their requests.
const manyRanks = 32

// world is what this node knows of one world of the job. A node takes part in
// the worlds that have ranks here or below: it starts its own, and gathers what
// the nodes below have to say. A world's bulletin board spans less: from the
// lowest node that has all of the world here or below.
type world struct {
	spec overlay.World
	id   int
	// It came after the launch: its start may fail, and its end comes, without the job's.
	spawned bool
	nodes   []job.HostIndex // that hold ranks, ascending; the board's numbers of nodes
	peers   []tree.Slot     // children with ranks below, by serve.Neighbor

	ranks    []*rank // local ones
	byRank   map[job.Rank]*rank
	launched bool // the ranks were handed to the warden, or never will be
	refused  int  // ranks that this node was to hold and cannot; then it has none
	unborn   int  // ranks neither started nor failed to
	living   int  // ranks not yet ended
	killed   bool // the ranks were told to end, though the job goes on
	settled  bool // this node's part of done is given

	mpi mpiLibraries // of its local ranks; nil where there are none

	own     overlay.Started // this node's part of started
	ended   overlay.Done    // this node's part of done
	started answers[overlay.Started]
	done    answers[overlay.Done]

	fences  int          // that are complete
	fence   report.Fence // under way, and its number; for --trace only
	servers servers
}

// launchWorld is the number of the world that comes with the launch.
const launchWorld = 0

// takeLaunch learns what all worlds have in common, and the one that comes with it.
func (j *Job) takeLaunch(l overlay.Launch) error {
	if j.launch != nil {
		return errors.New("a second launch message")
	}
	j.launch = &l
	j.env.takeEnviron()
	j.env.takeIface()
	if l.Timed {
		j.output.Time()
	}
	j.node.End().Launched()
	j.launched = time.Now()
	j.nodeID = job.NodeID(slices.Index(l.Nodes, j.node.Self().Index))
	j.node.Subtree().Worlds.Rules(j.number, l.LaunchOptions)
	w, err := j.newWorld(launchWorld, l.World, false)
	if err != nil {
		return err
	}
	j.starting = w
	if err := j.stdin.openAll(w); err != nil {
		return err
	}
	if err := j.begin(w); err != nil {
		return err
	}
	j.startIf() // there are files to pass on also where no ranks are
	return nil
}

// takeWorld learns of a spawned world and passes it on to the nodes that hold
// it.
func (j *Job) takeWorld(m overlay.Message) error {
	id := int(m.Header.World)
	if j.launch == nil || id <= j.newest {
		return fmt.Errorf("world %d is out of turn", id)
	}
	return overlay.Take(m, func(spec overlay.World) error {
		w, err := j.newWorld(id, spec, true)
		if err != nil {
			return err
		}
		j.down(w, link.KVS, overlay.KindWorld, m.Body)
		return j.begin(w)
	})
}

// checkBlocks checks that they tell of each rank once, in order.
func (w *world) checkBlocks() error {
	next := 0
	for _, b := range w.spec.Blocks {
		switch {
		case b.App < 0 || b.App >= len(w.spec.Apps) || b.Count < 1 || b.Count > w.spec.Size-next:
			return fmt.Errorf("world %d: ranks %d+%d of app %d do not exist", w.id, b.First, b.Count, b.App)
		case int(b.First) != next:
			return fmt.Errorf("world %d: ranks %d+%d where rank %d should follow", w.id, b.First, b.Count, next)
		}
		next += b.Count
	}
	if next != w.spec.Size {
		return fmt.Errorf("world %d: it is said where %d of %d ranks are", w.id, next, w.spec.Size)
	}
	return nil
}

// newWorld finds out who is concerned by a world.
func (j *Job) newWorld(id int, spec overlay.World, spawned bool) (*world, error) {
	w := &world{spec: spec, id: id, spawned: spawned, byRank: map[job.Rank]*rank{}}
	if err := w.checkPrograms(j.launch.Files); err != nil {
		return nil, err
	}
	w.started.Merge = (*overlay.Started).Merge
	w.done.Merge = (*overlay.Done).Merge
	if err := w.checkBlocks(); err != nil {
		return nil, err
	}
	most := unix.MaxProcesses()
	for _, b := range w.spec.Blocks {
		if _, found := slices.BinarySearch(j.launch.Nodes, b.Host); !found && !spawned {
			return nil, fmt.Errorf("ranks %d+%d are where no node of the job is", b.First, b.Count)
		}
		w.nodes = append(w.nodes, b.Host)
		if b.Host != j.node.Self().Index {
			continue
		}
		if w.refused += b.Count; uint64(w.refused) > most {
			w.ranks, w.byRank = nil, nil
			continue
		}
		for i := range b.Count {
			r := &rank{world: w, Rank: serve.Rank{Number: b.First + job.Rank(i), App: b.App}}
			r.record = report.Rank{World: id, Rank: r.Number, Host: b.Host, Outcome: report.NotStarted}
			w.ranks = append(w.ranks, r)
			w.byRank[r.Number] = r
		}
	}
	if uint64(w.refused) <= most {
		w.refused = 0
	}
	slices.Sort(w.nodes)
	w.nodes = slices.Compact(w.nodes)
	if err := w.spec.CheckClusters(len(w.nodes)); err != nil {
		return nil, fmt.Errorf("world %d: %w", id, err)
	}
	for slot := range j.node.Subtree().Children {
		if j.node.Subtree().Count(slot, w.nodes) > 0 {
			w.peers = append(w.peers, slot)
		}
	}
	if !spawned {
		j.node.Subtree().Worlds.CallNodes(j.number, w.nodes, w.spec.Names)
	}
	j.node.Subtree().Worlds.Know(j.number, id, w.spec.Blocks)
	slices.SortFunc(w.peers, func(x, y tree.Slot) int {
		return int(j.node.Subtree().Host(x).Index - j.node.Subtree().Host(y).Index)
	})
	w.unborn, w.living = len(w.ranks), len(w.ranks)
	j.newest = id
	return w, nil
}

// here reports whether the world has ranks on this node or below.
func (w *world) here() bool { return len(w.ranks) > 0 || len(w.peers) > 0 || w.refused > 0 }

// refuse says that the ranks of a world are too many for this node.
func (rs *ranks) refuse(w *world) {
	text := fmt.Sprintf("%d ranks are more than the %d processes that this host can have (kernel.pid_max); use fewer per host", w.refused, unix.MaxProcesses())
	w.ended.Merge(overlay.Done{Ended: w.refused, Never: w.refused})
	for _, b := range w.spec.Blocks {
		switch {
		case b.Host != rs.j.node.Self().Index:
		case w.spawned:
			w.own.Fail(overlay.StartFailure{Host: b.Host, First: b.First, Count: b.Count, Code: job.ExitLauncher, Text: text})
		default: // one block says enough
			rs.j.failures.fail(job.Failure{Class: job.CauseStart, Rank: b.First, Host: b.Host, Code: job.ExitLauncher, Phase: "start", Text: text})
			return
		}
	}
}

// begin takes part in a world.
func (j *Job) begin(w *world) error {
	if !w.here() {
		return nil
	}
	if err := j.serving.makeFor(w); err != nil {
		return err
	}
	j.worlds[w.id] = w
	w.started.Expect(1)
	w.done.Expect(1)
	for _, slot := range w.peers {
		w.started.awaits(slot)
		w.done.awaits(slot)
	}
	j.output.Open(w.id, w.peers)
	for _, s := range w.servers.all {
		if err := s.Start(); err != nil {
			return err
		}
	}
	if err := j.serving.hearEarly(w); err != nil {
		return err
	}
	if w.refused > 0 {
		j.ranks.refuse(w)
	}
	if len(w.ranks) == 0 {
		j.ranks.neverStart(w)
		return nil
	}
	j.Do(j.end.RanksCome(j.node.End(), w.living))
	if j.end.Living() > manyRanks {
		j.node.MoreProcessors()
	}
	j.startIf()
	return nil
}

// world finds the one that a message of some kind is about; nil if it is over.
func (j *Job) world(id int, kind tree.Kind) (*world, error) {
	w := j.worlds[id]
	if w == nil && (j.launch == nil || id > j.newest) {
		return nil, fmt.Errorf("message %q about world %d, which does not exist", overlay.Word(kind), id)
	}
	return w, nil
}

// down sends a message to the children that take part in a world.
func (j *Job) down(w *world, s link.Stream, kind tree.Kind, body []byte) {
	for _, slot := range w.peers {
		if j.node.Subtree().Live(slot) {
			j.node.Subtree().Forward(slot, s, tree.Header{Kind: kind, Job: j.number, World: uint16(w.id), To: tree.Neighbor, From: tree.Launcher}, body)
		}
	}
}

// upWorld queues a message about a world to the parent.
func (j *Job) upWorld(w *world, s link.Stream, kind tree.Kind, body []byte) {
	j.node.Parent().Send(s, tree.Header{Kind: kind, Job: j.number, World: uint16(w.id), To: tree.Launcher, From: j.node.Self().Index}, body)
}

// aboutWorld handles what the parent says of a spawned world, or a child of any
// world. What concerns one that is over is dropped.
func (j *Job) aboutWorld(m overlay.Message, handle func(*world) error) error {
	w, err := j.world(int(m.Header.World), m.Header.Kind)
	if w == nil {
		return err
	}
	return handle(w)
}

func (j *Job) startedIf(w *world, complete bool) {
	if complete {
		j.upWorld(w, link.Control, overlay.KindStarted, overlay.Encode(w.started.Value()))
	}
}

func (j *Job) doneIf(w *world, complete bool) {
	if complete {
		j.upWorld(w, link.Control, overlay.KindDone, overlay.Encode(w.done.Value()))
	}
}

func (j *Job) childStarted(w *world, slot tree.Slot, s overlay.Started) {
	if w.started.owed[slot] {
		if !w.spawned {
			j.node.StartedBelow(slot, s)
		}
		j.startedIf(w, w.started.take(slot, s))
	}
}

func (j *Job) childDone(w *world, slot tree.Slot, d overlay.Done) {
	if w.done.owed[slot] {
		j.doneIf(w, w.done.take(slot, d))
	}
}

// worldWithout stops waiting for a child that is lost.
func (j *Job) worldWithout(w *world, slot tree.Slot) {
	if !slices.Contains(w.peers, slot) {
		return
	}
	j.output.Drain(w.id, slot)
	j.startedIf(w, w.started.without(slot))
	j.doneIf(w, w.done.without(slot))
}

// endWorld kills the ranks of one world: it could not be started as a whole.
func (j *Job) endWorld(w *world) error {
	j.down(w, link.Control, overlay.KindEndWorld, nil)
	w.killed = true
	j.startIf() // if it waits to start, it never will
	if j.node.Warden() != nil && w.living > 0 {
		if err := j.node.Warden().SignalWorld(j.number, w.id, killSignal); err != nil {
			j.node.WardenLost(err)
		}
	}
	return nil
}

// forget lets go of a spawned world that is over on every node.
func (j *Job) forget(w *world) error {
	if !w.spawned || w.living > 0 {
		return fmt.Errorf("world %d is to be forgotten, of which %d ranks live here", w.id, w.living)
	}
	j.down(w, link.KVS, overlay.KindForget, nil)
	j.accounts.past.add(w, j.node.Common().Entries)
	j.profiling.tellAll(func(world int) bool { return world == w.id })
	w.closeServers()
	delete(j.worlds, w.id)
	if j.pmix.root != nil {
		j.pmix.root.Forget(w.spec.KVSName)
	}
	return nil
}

// ForServer hands a message of any node to the server here that it is for.
func (j *Job) ForServer(m overlay.Message) error {
	if m.Header.Kind == overlay.KindPMIxModex {
		return j.pmix.modex(m)
	}
	return j.aboutWorld(m, func(w *world) error {
		from, found := slices.BinarySearch(w.nodes, m.Header.From)
		if !found || w.servers.board == nil {
			return fmt.Errorf("it is from where no node of world %d is", w.id)
		}
		return j.serving.pass(w, serve.Message{Message: m, Node: job.NodeID(from)})
	})
}

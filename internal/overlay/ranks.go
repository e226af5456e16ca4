package overlay

import (
	"errors"
	"fmt"
	"sync"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// Worlds has the places of the ranks of all jobs that a node knows of, for the Origins of
// its children. The zero value knows none. It is safe for many goroutines.
type Worlds struct {
	learning sync.RWMutex // held for writing while a launch is read
	mu       sync.Mutex
	jobs     map[job.Number]*places
	newest   job.Number // of all that were known so far
	children []*Origin
	called   [][]HostEntry // names of hosts, in the lists in which they came
}

// errJobOver refuses messages of a job that is over: they may have been under way, and are
// dropped.
var errJobOver = errors.New("its job is over")

// KnowJob makes a job known, before any child hears of it. Until ForgetJob children may
// speak of it.
func (w *Worlds) KnowJob(n job.Number) { w.job(n) }

// job returns the places of a job's ranks, and makes it known.
func (w *Worlds) job(n job.Number) *places {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.jobs[n]
	if p == nil {
		if w.jobs == nil {
			w.jobs = map[job.Number]*places{}
		}
		p = &places{blocks: map[int][]job.Block{}, holders: map[int]tree.Hosts{}}
		w.jobs[n] = p
		w.newest = max(w.newest, n)
	}
	return p
}

// ForgetJob lets go of a job that is over, and of its worlds. Messages about it that come
// still are dropped.
func (w *Worlds) ForgetJob(n job.Number) {
	w.mu.Lock()
	delete(w.jobs, n)
	w.newest = max(w.newest, n)
	w.mu.Unlock() // an Origin asks for jobs while it is locked
	for _, o := range w.origins() {
		o.forgetJob(n)
	}
}

// find returns the places of a job's ranks, or errJobOver.
func (w *Worlds) find(n job.Number) (*places, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.newest {
		return nil, fmt.Errorf("job %d does not exist there", n)
	}
	if p := w.jobs[n]; p != nil {
		return p, nil
	}
	return nil, errJobOver
}

// Rules sets the options by which the ranks of all worlds of a job are served: the messages
// of their servers follow from these.
func (w *Worlds) Rules(n job.Number, l LaunchOptions) {
	p := w.job(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.policy, p.groups = l.Cache, l.PMIVersion == pmi.VersionGroups
}

// Child returns the Origin of a child that was given hosts, the first of which is its
// own; root says that it is the launcher's.
func (w *Worlds) Child(root bool, hosts []HostEntry) *Origin {
	o := &Origin{root: root, worlds: w, jobs: map[job.Number]*claims{}, own: hosts[0].Index}
	o.extend(hosts)
	o.awaited = nil
	o.spare.Store(maxUnderway)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.children = append(w.children, o)
	return o
}

// Know sets the places of the ranks of a job's world, in rank order, before any child hears
// of it: children speak of those below them only.
func (w *Worlds) Know(n job.Number, world int, blocks []job.Block) {
	w.job(n).know(world, blocks)
	for _, o := range w.origins() {
		o.begin(n, world, blocks)
	}
}

// origins are those of all children.
func (w *Worlds) origins() []*Origin {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.children
}

// Learn has children wait to be heard, since they may know of a world already which is
// not known here, until its result is called.
func (w *Worlds) Learn() (learned func()) {
	w.learning.Lock()
	return w.learning.Unlock
}

// await waits until nothing is being learned.
func (w *Worlds) await() {
	w.learning.RLock()
	defer w.learning.RUnlock()
}

// Forget lets go of a world that is over.
func (w *Worlds) Forget(n job.Number, world int) {
	p, err := w.find(n)
	if err != nil {
		return
	}
	p.forget(world)
	for _, o := range w.origins() {
		o.forget(n, world)
	}
}

// places has the places of the ranks of a job's worlds, and the rules of their servers. It
// is safe for many goroutines.
type places struct {
	mu      sync.Mutex
	blocks  map[int][]job.Block // by world, in rank order; nil once over
	holders map[int]tree.Hosts  // of ranks, by world; none until somebody wants to know
	nodes   []job.HostIndex     // that hold ranks of the first world, ascending
	names   string              // of nodes, as hostlist.Fold has them
	policy  cache.Policy        // of all boards
	groups  bool                // ranks have barriers of groups
}

func (p *places) know(world int, blocks []job.Block) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocks[world] = blocks
}

func (p *places) forget(world int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blocks[world] != nil {
		p.blocks[world] = nil
		delete(p.holders, world)
	}
}

// find returns the ranks of a world.
func (p *places) find(world int) (blocks []job.Block, over bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	blocks, known := p.blocks[world]
	if !known {
		return nil, false, fmt.Errorf("world %d does not exist there", world)
	}
	return blocks, blocks == nil, nil
}

// haveGroups says whether groups have barriers.
func (p *places) haveGroups() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.groups
}

// boards returns the policy of all boards.
func (p *places) boards() cache.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.policy
}

// nodesOf returns the hosts that hold ranks of a world that is not over, and the number of
// these.
func (p *places) nodesOf(world int) (nodes tree.Hosts, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	blocks := p.blocks[world]
	if len(blocks) == 0 {
		return nil, 0
	}
	last := blocks[len(blocks)-1]
	nodes, known := p.holders[world]
	if !known {
		hosts := make([]job.HostIndex, len(blocks))
		for i, b := range blocks {
			hosts[i] = b.Host
		}
		nodes = tree.MakeHosts(hosts)
		p.holders[world] = nodes
	}
	return nodes, int(last.First) + last.Count
}

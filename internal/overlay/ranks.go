package overlay

import (
	"fmt"
	"sync"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// Worlds has the places of the ranks of all worlds that a node knows of, for the
// Origins of its children. The zero value knows none. It is safe for many goroutines.
type Worlds struct {
	learning sync.RWMutex // held for writing while a launch is read
	mu       sync.Mutex
	blocks   map[int][]job.Block // in rank order; nil once over
	nodes    map[int]tree.Hosts  // that hold ranks; none until somebody wants to know
	children []*Origin
	called   hostNames
	policy   cache.Policy // of all boards
	groups   bool         // ranks have barriers of groups
}

// Rules sets the options by which the ranks of all worlds are served: the messages of
// their servers follow from these.
func (w *Worlds) Rules(l LaunchOptions) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.policy, w.groups = l.Cache, l.PMIVersion == pmi.VersionGroups
}

// Child returns the Origin of a child that was given hosts, the first of which is its
// own; root says that it is the launcher's.
func (w *Worlds) Child(root bool, hosts []HostEntry) *Origin {
	o := &Origin{root: root, ranksOf: w, worlds: map[int]*share{}, own: hosts[0].Index}
	o.extend(hosts)
	o.awaited = nil
	o.spare.Store(maxUnderway)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.children = append(w.children, o)
	return o
}

// Know sets the places of a world's ranks, in rank order, before any child hears of it:
// children speak of those below them only.
func (w *Worlds) Know(world int, blocks []job.Block) {
	w.mu.Lock()
	if w.blocks == nil {
		w.blocks = map[int][]job.Block{}
	}
	w.blocks[world] = blocks
	children := w.children
	w.mu.Unlock() // an Origin asks where ranks are while it is locked
	for _, o := range children {
		o.begin(world, blocks)
	}
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
func (w *Worlds) Forget(world int) {
	w.mu.Lock()
	if w.blocks[world] != nil {
		w.blocks[world] = nil
		delete(w.nodes, world)
	}
	children := w.children
	w.mu.Unlock()
	for _, o := range children {
		o.forget(world)
	}
}

// find returns the ranks of a world.
func (w *Worlds) find(world int) (blocks []job.Block, over bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	blocks, known := w.blocks[world]
	if !known {
		return nil, false, fmt.Errorf("world %d does not exist there", world)
	}
	return blocks, blocks == nil, nil
}

// haveGroups says whether groups have barriers.
func (w *Worlds) haveGroups() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.groups
}

// boards returns the policy of all boards.
func (w *Worlds) boards() cache.Policy {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policy
}

// holders returns the hosts that hold ranks of a world that is not over, and the number
// of these.
func (w *Worlds) holders(world int) (nodes tree.Hosts, size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	blocks := w.blocks[world]
	if len(blocks) == 0 {
		return nil, 0
	}
	last := blocks[len(blocks)-1]
	nodes, known := w.nodes[world]
	if !known {
		hosts := make([]job.HostIndex, len(blocks))
		for i, b := range blocks {
			hosts[i] = b.Host
		}
		nodes = tree.MakeHosts(hosts)
		if w.nodes == nil {
			w.nodes = map[int]tree.Hosts{}
		}
		w.nodes[world] = nodes
	}
	return nodes, int(last.First) + last.Count
}

// share is a child's part of one world.
type share struct {
	ranks                  int
	started, done, drained bool // has come
}

// begin makes a world known.
func (o *Origin) begin(world int, blocks []job.Block) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &share{}
	for _, b := range blocks {
		if o.nodes.Has(b.Host) {
			s.ranks += b.Count
		}
	}
	o.worlds[world] = s
	o.ranks += s.ranks
}

// forget lets go of a world that is over.
func (o *Origin) forget(world int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.worlds, world)
}

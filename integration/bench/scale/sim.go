package scale

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/integration/internal/event"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/pacing"
)

// setup is one job and the machine that it starts on.
type setup struct {
	nodes, ranks int // ranks of each node
	shape        shape
	shared       int // processors that all nodes share; 0: every node has its own
	slow         func(host int) time.Duration
	dead         func(host int) bool
	unsigned     bool // connections that the launcher need not sign for
	exchange     int  // bytes that each rank puts before a fence; 0: no exchange
	cpus         int  // processors of a node, where they are its own; 0: coresOfNode
	window       int  // handshakes in flight to begin with; 0: pacing.WindowBegin
}

// coresOfNode is the number of processors of a node in the figures.
const coresOfNode = 64

// sharedSlice is the time that a task has a processor that others wait for: about
// Linux's.
const sharedSlice = 3 * time.Millisecond

// refusedFor is the time for which a host that refuses is tried again.
const refusedFor = time.Second

// outcome has the end of each phase of a job, and the costs.
type outcome struct {
	connect  time.Duration // the root is up
	up       time.Duration // the launcher knows the live hosts
	started  time.Duration // all ranks run
	settled  time.Duration // all ranks have left the exchange
	down     time.Duration // golaunch ends
	cpu      time.Duration // of everything
	launcher load
	root     load
	depth    int // links between the root and the deepest agent
	children int // of the root
	dead     int
}

// load is the work of one process.
type load struct {
	messages int // sent and received
	bytes    int
	cpu      time.Duration
}

// sim is one run of the model.
type sim struct {
	setup
	costs
	sizes   *sizes
	queue   event.Queue
	machine *cores // that all nodes share; nil: every node has its own
	agents  []node // by host
	head    node   // the launcher
	out     outcome
}

// node is an agent, or the launcher, as far as it is started.
type node struct {
	host     int // -1 for the launcher
	depth    int
	cores    *cores
	loop     thread
	sshd     thread        // between it and its parent
	send     time.Duration // the time until which its way out is busy
	receive  time.Duration // and its way in
	parent   *node
	children []*node
	below    int // hosts of its range

	places  pacing.Window
	one     bool // a handshake of a shape that has one at a time
	waiting []func()

	ready   tree.Gather[readyPart]
	running tree.Gather[struct{}]
	fence   tree.Gather[struct{}]
	done    tree.Gather[struct{}]
	gone    tree.Gather[struct{}]

	starts  int // the times that it joined
	warden  bool
	launch  bool // the launch message is here
	spawned bool // the ranks were begun
	load    load
}

// readyPart is the part of overlay.Ready that the model needs.
type readyPart struct{ live, dead int }

func mergeReady(all *readyPart, part readyPart) {
	all.live += part.live
	all.dead += part.dead
}

func mergeNothing(*struct{}, struct{}) {}

// simulate runs a job.
func simulate(s setup, c costs) (outcome, error) {
	z, err := sizesOf(s.nodes, s.ranks)
	if err != nil {
		return outcome{}, err
	}
	m := &sim{setup: s, costs: c, sizes: z.under(s.shape.degree), agents: make([]node, s.nodes)}
	if m.cpus == 0 {
		m.cpus = coresOfNode
	}
	if m.window == 0 {
		m.window = pacing.WindowBegin
	}
	if s.shared > 0 {
		m.machine = &cores{queue: &m.queue, free: s.shared, slice: sharedSlice}
	}
	m.init(&m.head, -1)
	m.queue.After(0, m.begin)
	for m.queue.Step() {
	}
	m.out.launcher = m.head.load
	if len(m.head.children) > 0 {
		root := m.head.children[0]
		m.out.root, m.out.children = root.load, len(root.children)
	}
	return m.out, m.check()
}

// check makes sure that every node has started once, and the job came to its
// end.
func (s *sim) check() error {
	if s.out.down == 0 {
		return fmt.Errorf("%d nodes, %s: the job does not end", s.nodes, s.shape.name)
	}
	for i := range s.agents {
		want := 1
		if s.isDead(i) {
			want = 0
		}
		if s.agents[i].starts != want {
			return fmt.Errorf("%d nodes, %s: host %d has started %d times", s.nodes, s.shape.name, i, s.agents[i].starts)
		}
	}
	return nil
}

func (s *sim) isDead(host int) bool { return s.dead != nil && s.dead(host) }

// init sets up a node before anything runs there.
func (s *sim) init(n *node, host int) {
	n.host = host
	n.cores = s.machine
	if n.cores == nil {
		n.cores = &cores{queue: &s.queue, free: s.cpus}
	}
	n.loop.on, n.sshd.on = n.cores, n.cores
	n.places = pacing.NewWindow(s.window)
	n.ready.Merge = mergeReady
	for _, g := range []*tree.Gather[struct{}]{&n.running, &n.fence, &n.done, &n.gone} {
		g.Merge = mergeNothing
	}
}

// work has a node's event loop do something.
func (s *sim) work(n *node, d time.Duration, then func()) {
	n.load.cpu += d
	s.out.cpu += d
	n.loop.run(d, then)
}

// aside has a new process of a node do something.
func (s *sim) aside(n *node, d time.Duration, then func()) {
	s.out.cpu += d
	n.cores.run(d, then)
}

// beside has something done on a node, by a process that slept until then, beside its
// event loop.
func (s *sim) beside(n *node, d time.Duration, then func()) {
	s.out.cpu += d
	n.cores.wake(0, d, func(time.Duration) { then() })
}

// bulk is the length from which on a message's bytes are worth counting: they
// are handled beside the event loop, on every link for itself.
const bulk = 4096

// message takes one over a link. made and read are the times to make it and to read it,
// beside those of every message.
func (s *sim) message(from, to *node, bytes int, made, read time.Duration, then func()) {
	crypt := func(n *node, then func()) { then() }
	if bytes >= bulk {
		crypt = func(n *node, then func()) {
			n.load.cpu += per(s.Crypt, bytes)
			s.beside(n, per(s.Crypt, bytes), then)
		}
	}
	child := from
	if to.parent == from {
		child = to
	}
	from.load.messages++
	from.load.bytes += bytes
	s.work(from, s.Send+made, func() {
		crypt(from, func() {
			wire := per(s.Byte, bytes)
			from.send = max(from.send, s.queue.Now()) + wire
			to.receive = max(to.receive+wire, from.send)
			way, relay := to.receive-s.queue.Now()+s.Hop, s.Relay+per(s.Crypt, bytes)
			arrived := func() {
				crypt(to, func() {
					to.load.messages++
					to.load.bytes += bytes
					s.work(to, s.Receive+read, then)
				})
			}
			if s.machine == nil { // a processor is free for it
				s.out.cpu += relay
				s.queue.After(way+relay, arrived)
				return
			}
			s.queue.After(way, func() {
				s.out.cpu += relay
				child.sshd.run(relay, arrived)
			})
		})
	})
}

// down sends a message to all children, in turn.
func (s *sim) down(n *node, bytes int, read time.Duration, then func(*node)) {
	for _, child := range n.children {
		s.message(n, child, bytes, 0, read, func() { then(child) })
	}
}

package ending

import (
	"errors"
	"fmt"
	"slices"
)

// place is a node with one job, and what surrounds it, as far as they can tell: a
// parent, a warden, ranks of some worlds with their output, children, timers. It
// takes steps, any that is possible. It is comparable, so that all orders of steps
// can be tried.
type place struct {
	n      Node
	j      Job
	setup  *setup
	parent parent
	warden process
	// Of the warden.
	killing, final, stuck, destroyed bool
	said                             queue // by the warden, not heard yet
	ranks                            [mostRanks]rank
	worlds                           [mostRanks]world
	// Events that are under way.
	linger, stale, watch, idle, childEnd bool

	ordered      bool // to kill at once, by the parent
	peace        bool // everything was delivered when END came, and nothing killed
	toldChildren bool
	fault        string // what must not be
}

const mostRanks = 3

// setup is what a place begins with: the world of each rank, or relay, which has
// neither ranks nor a warden.
type setup struct {
	relay  bool
	ranks  int
	world  [mostRanks]int
	worlds int
}

type parent uint8

const (
	here parent = iota
	ended
	lost
)

type process uint8

const (
	unborn process = iota
	born           // a warden that is starting, a rank that waits for its turn in the warden
	alive
	dead
)

// rank is a rank as it is and as the agent sees it.
type rank struct {
	process  process
	waits    bool     // at the agent
	handed   bool     // to the warden, and not counted out
	leftover leftover // a process that it left behind holds its pipe
	open     bool     // its pipe
	cut      bool     // its pipe is to be closed by the agent
}

// leftover is what a rank left behind.
type leftover uint8

const (
	nothing leftover = iota
	inside           // the job: it is killed with that
	outside          // nobody can kill it
)

// killed is what is left after all that can be killed was.
func (l leftover) killed() leftover {
	if l == inside {
		return nothing
	}
	return l
}

// world is a world as the agent sees it.
type world struct {
	begun  bool
	held   bool // it waits for something else: files, a program's loader
	killed bool
	done   bool // this node's part in its end was given
}

// word is what the warden says: a rank's number as it has ended, or one of these.
type word int8

const (
	allGone word = -1 - iota
	eof
)

// queue is words in order.
type queue struct {
	n     int
	words [2*mostRanks + 3]word
}

func (q *queue) put(w word) { q.words[q.n], q.n = w, q.n+1 }

func (q *queue) take() word {
	w := q.words[0]
	copy(q.words[:], q.words[1:])
	q.words[len(q.words)-1] = 0
	q.n--
	return w
}

var errTest = errors.New("test")

// jobs are those of the node.
func (p *place) jobs() []Numbered { return []Numbered{{1, &p.j}} }

// must notes what must not be.
func (p *place) must(ok bool, format string, args ...any) {
	if !ok && p.fault == "" {
		p.fault = fmt.Sprintf(format, args...)
	}
}

// of is the ranks of a world.
func (p *place) of(w int) (list []*rank) {
	for i := range p.setup.ranks {
		if p.setup.world[i] == w {
			list = append(list, &p.ranks[i])
		}
	}
	return list
}

// living is how many ranks of a world the agent counts.
func (p *place) living(w int) (n int) {
	for _, r := range p.of(w) {
		if r.waits || r.handed {
			n++
		}
	}
	return n
}

func (p *place) waiting(w int) (n int) {
	for _, r := range p.of(w) {
		if r.waits {
			n++
		}
	}
	return n
}

// quiet is what the agent's output says.
func (p *place) quiet() bool {
	for i := range p.setup.ranks {
		r := &p.ranks[i]
		if r.open || r.waits || r.handed && (r.process == unborn || r.process == born) {
			return false
		}
	}
	return true
}

// delivered reports whether all that has begun has ended, with all its output.
func (p *place) delivered() bool {
	for w, x := range p.worlds {
		if x.begun && (!x.done || p.living(w) > 0) {
			return false
		}
	}
	return !slices.ContainsFunc(p.ranks[:], func(r rank) bool { return r.open })
}

// ripe has the output say so.
func (p *place) ripe() { p.idle = p.idle || p.quiet() }

// do carries actions out as the agent does.
func (p *place) do(actions []Action) {
	for _, x := range actions {
		switch x.Do {
		case StartNone:
			p.startIf()
		case Settle:
			for w := range p.setup.worlds {
				if p.worlds[w].begun && p.living(w) == 0 {
					p.worlds[w].done = true
				}
			}
		case Linger:
			p.must(!p.anyLiving(), "lingers while ranks live")
			p.linger = true
		case StopLinger:
			p.stale = p.stale || p.linger // it may be under way already
			p.linger = false
		case Kill:
			p.must(p.j.Killed() || !p.anyLiving(), "ranks are killed that nobody wants killed")
			p.tellWarden()
		case Watch:
			p.watch = true
		case Finish:
			p.must(p.n.Leaving(), "the warden is ended while the job goes on")
			p.final = true
			p.tellWarden()
		case Destroy:
			p.wardenDies()
			p.destroyed = p.n.Leaving() // else whoever closes the warden has the rest to do
		case Cut, CutAll:
			for i := range p.setup.ranks {
				r := &p.ranks[i]
				if w := p.setup.world[i]; x.Do == CutAll || p.living(w) == 0 {
					p.must(x.Do == CutAll || !r.open || r.process == dead && r.leftover != inside, "output is cut that is still written")
					r.cut = r.open
				}
			}
		case Sweep:
			for i := range p.setup.ranks {
				p.ranks[i].die(p.ranks[i].leftover.killed())
			}
		case Forsake:
			for i := range p.setup.ranks {
				p.ranks[i].waits, p.ranks[i].handed = false, false
			}
			for w := range p.setup.worlds {
				p.worlds[w].done = p.worlds[w].begun
			}
			p.ripe()
		case EndChildren:
			p.must(!p.toldChildren, "the children are told twice")
			p.toldChildren, p.childEnd = true, true
		case Unfit, Shut, CallOff, Beat, BeatLater:
		}
	}
}

func (p *place) anyLiving() bool {
	return slices.ContainsFunc(p.ranks[:], func(r rank) bool { return r.waits || r.handed })
}

// die ends a rank's processes, or the rank alone.
func (r *rank) die(leaving leftover) {
	r.leftover = leaving
	if r.process != unborn {
		r.process = dead
	}
}

// tellWarden has the warden end what there is, if it can be told.
func (p *place) tellWarden() {
	if p.warden == dead {
		p.do(p.n.WardenLost(errTest, p.jobs()...))
		return
	}
	p.killing = true
	for i := range p.setup.ranks {
		if r := &p.ranks[i]; r.process == born {
			r.process = dead
			p.tell(word(i))
		}
	}
}

// tell has the warden say something, unless it is stopped.
func (p *place) tell(w word) {
	if !p.stuck {
		p.said.put(w)
	}
}

func (p *place) wardenDies() {
	if p.warden == alive {
		p.warden = dead
		p.said.put(eof)
	}
}

// startIf starts what may, and counts out what may not any more.
func (p *place) startIf() {
	if p.n.warden < present && !p.setup.relay {
		return
	}
	for w := range p.setup.worlds {
		n := p.waiting(w)
		switch x := &p.worlds[w]; {
		case n == 0:
		case p.j.Killed() || p.n.WardenGone() || x.killed:
			for _, r := range p.of(w) {
				r.waits = false
			}
			p.never(w, n)
		case !x.held:
			p.j.RanksHanded(n)
			for _, r := range p.of(w) {
				r.waits, r.handed = false, true
				if r.process = born; p.warden == dead {
					r.process = dead
				}
			}
			if p.warden == dead {
				p.do(p.n.WardenLost(errTest, p.jobs()...))
			}
		}
	}
}

func (p *place) never(w, n int) {
	p.worlds[w].done = true
	p.ripe()
	p.do(p.j.RanksNever(&p.n, n, p.quiet()))
}

// hear takes the warden's next word.
func (p *place) hear() {
	switch w := p.said.take(); w {
	case allGone:
		p.do(p.j.RanksGone(&p.n))
	case eof:
		p.do(p.n.WardenLost(errTest, p.jobs()...))
	default:
		p.countOut(int(w))
	}
}

func (p *place) countOut(i int) {
	p.ranks[i].handed = false
	p.ripe()
	p.do(p.j.RankEnded(&p.n, p.living(p.setup.world[i]) == 0, p.quiet()))
}

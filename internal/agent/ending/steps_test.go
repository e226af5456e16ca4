package ending

import "fmt"

// step is something that can happen at a place.
type step struct {
	what string // with a %d for of
	of   int
	fair bool // it will happen, in the end, unless something else makes it impossible
	take func(*place)
}

func (s step) String() string {
	if s.of < 0 {
		return s.what
	}
	return fmt.Sprintf(s.what, s.of)
}

// ends are how a rank can, by what it leaves behind.
var ends = [...]string{
	nothing: "rank %d ends", inside: "rank %d ends, leaving a process of the job",
	outside: "rank %d ends, leaving its pipe to one outside the job",
}

// steps are all that can happen next.
func (p *place) steps() (list []step) {
	list = make([]step, 0, 40)
	each := func(ok, fair bool, what string, of int, take func(*place)) {
		if ok {
			list = append(list, step{what, of, fair, take})
		}
	}
	can := func(ok, fair bool, what string, take func(*place)) { each(ok, fair, what, -1, take) }
	up, works := p.warden == alive, p.warden == alive && !p.stuck
	// The parent.
	tree := p.parent == here
	can(tree && !p.n.ranged, false, "range", func(p *place) {
		p.n.Ranged()
		if !p.setup.relay {
			p.warden = born
			p.n.WardenBegun()
		}
	})
	can(tree && p.n.ranged && !p.n.launched, false, "launch", func(p *place) { p.n.Launched() })
	for w := range p.setup.worlds {
		x := p.worlds[w]
		for held, what := range []string{"world %d begins", "world %d begins, held up"} {
			each(tree && p.n.launched && !x.begun && (w == 0 || p.worlds[w-1].begun), false, what, w, func(p *place) {
				p.worlds[w].begun, p.worlds[w].held = true, held > 0
				for _, r := range p.of(w) {
					r.waits = true
				}
				p.do(p.j.RanksCome(&p.n, len(p.of(w))))
				p.startIf()
			})
		}
		each(x.held && x.begun, true, "world %d is not held up any more", w, func(p *place) {
			p.worlds[w].held = false
			p.startIf()
		})
		each(x.held && p.waiting(w) > 0 && up, false, "files of world %d fail", w, func(p *place) {
			p.j.RanksHanded(p.waiting(w))
			p.worlds[w].held = false
			for i := range p.setup.ranks {
				if r := &p.ranks[i]; p.setup.world[i] == w {
					r.waits, r.handed, r.process = false, true, dead
				}
			}
			for i := range p.setup.ranks {
				if p.setup.world[i] == w {
					p.countOut(i)
				}
			}
		})
		each(tree && w > 0 && x.begun && !x.killed, false, "world %d is ended", w, func(p *place) {
			p.worlds[w].killed = true
			p.startIf()
			for i := range p.setup.ranks {
				if r := &p.ranks[i]; p.setup.world[i] == w && r.process == alive {
					r.die(r.leftover)
					p.tell(word(i))
				}
			}
		})
	}
	can(tree && p.n.ranged && !p.j.Killed(), false, "kill after a grace", func(p *place) { p.do(p.j.KillOrdered(&p.n, 1)) })
	can(tree && p.n.ranged && !p.ordered, false, "kill", func(p *place) {
		p.ordered = true
		p.do(p.j.KillOrdered(&p.n, 0))
	})
	can(tree, false, "END", func(p *place) {
		p.parent, p.peace = ended, !p.j.Killed() && p.delivered()
		p.do(p.n.ParentEnded(p.jobs()...))
	})
	can(p.parent != lost, false, "the parent is lost", func(p *place) {
		p.parent = lost
		p.n.ParentLost()
	})
	// The warden.
	can(p.warden == born, true, "the warden is up", func(p *place) {
		p.warden = alive
		p.do(p.n.WardenUp())
		if !p.n.Finished() {
			p.startIf()
		}
	})
	can(p.warden == born, false, "no warden", func(p *place) {
		p.warden = unborn
		p.do(p.n.WardenFailed(errTest))
	})
	can(p.killing && works && p.said.n < len(p.said.words)-mostRanks-2, true, "all are killed", func(p *place) {
		p.killing = false
		for i := range p.setup.ranks {
			r := &p.ranks[i]
			if r.process == alive {
				p.tell(word(i))
			}
			if r.process != born {
				r.die(r.leftover.killed())
			}
		}
		p.tell(allGone)
		if p.final {
			p.wardenDies()
		}
	})
	can(up, false, "the warden dies", (*place).wardenDies)
	can(works, false, "the warden is stopped", func(p *place) { p.stuck = true })
	can(p.said.n > 0, true, "the warden is heard", (*place).hear)
	// Ranks.
	for i := range p.setup.ranks {
		r := p.ranks[i]
		each(r.process == born && works && !p.killing, true, "rank %d starts", i, func(p *place) {
			p.ranks[i].process, p.ranks[i].open = alive, true
		})
		for leaving, what := range ends {
			each(r.process == alive && up && (leftover(leaving) != outside || p.setup.worlds == 1), false, what, i, func(p *place) {
				p.ranks[i].die(leftover(leaving))
				p.tell(word(i))
			})
		}
		each(r.open && (r.cut || r.process == dead && r.leftover == nothing), true, "pipe of rank %d is closed", i, func(p *place) {
			p.ranks[i].open, p.ranks[i].cut = false, false
			p.ripe()
		})
	}
	// Events that are under way.
	can(p.linger, true, "the linger is over", func(p *place) {
		p.linger = false
		p.do(p.j.LingerOver(&p.n))
	})
	can(p.stale, false, "an old linger is over", func(p *place) {
		p.stale = false
		p.do(p.j.LingerOver(&p.n))
	})
	can(p.watch, true, "the warden has had its time", func(p *place) {
		p.watch = false
		p.do(p.n.WardenStuck(p.n.patience, p.jobs()...))
	})
	can(p.idle, true, "the output is idle", func(p *place) {
		p.idle = false
		p.do(p.j.OutputIdle(&p.n))
	})
	can(p.childEnd, true, "the children have ended", func(p *place) {
		p.childEnd = false
		p.n.ChildrenEnded()
	})
	return list
}

// after is the place after a step. What a life that is over leaves under way is of
// no interest.
func (p place) after(s step) place {
	was := p.n
	s.take(&p)
	p.check(was)
	p.n.patience, p.j.watched = 0, 0
	return p
}

// check is what holds after each step.
func (p *place) check(was Node) {
	n, j := &p.n, &p.j
	p.must(n.Over() || !was.Over(), "a life begins again")
	p.must(j.waiting >= 0 && j.running >= 0, "%d ranks wait, %d run", j.waiting, j.running)
	p.must(!n.Over() || n.Lost() || n.Leaving(), "over, though nobody said so")
	if n.Over() && !n.Lost() && n.ranged {
		p.must(p.toldChildren && n.childrenOver, "over before the children")
		p.must(p.warden != born && p.warden != alive, "over before the warden")
		for i, r := range p.ranks {
			p.must(!p.destroyed || r.process != alive && r.leftover != inside, "rank %d runs on after its warden", i)
		}
	}
	p.must(!n.Lost() || was.Lost() || p.parent == lost || p.warden != alive && !p.setup.relay, "lost without a reason")
	p.must(!n.Lost() || was.Lost() || p.parent == lost || !was.Leaving(), "lost while it leaves in good order")
	p.must(!n.Over() || n.Lost() || !p.peace || p.delivered(), "over before its output is delivered")
	for w, x := range p.worlds {
		p.must(!x.done || p.living(w) == 0, "world %d is done before its ranks have ended", w)
	}
	if n.Over() {
		return
	}
	living := 0
	for w := range p.setup.worlds {
		living += p.living(w)
	}
	p.must(living == j.Living(), "%d ranks live, %d are known", living, j.Living())
}

// rest is what holds where nothing is under way any more: nobody waits for ever.
func (p *place) rest() {
	n, j := &p.n, &p.j
	if p.parent != here {
		p.must(n.Over(), "not over")
	}
	if n.Over() {
		return
	}
	p.must(!j.Killed() || !p.anyLiving(), "ranks live that were told to end")
	for w, x := range p.worlds {
		p.must(!x.begun || x.done || p.living(w) > 0, "nobody is told that world %d is done", w)
	}
	if p.anyLiving() {
		return
	}
	for i, r := range p.ranks {
		p.must(!r.open, "the output of rank %d never ends", i)
		p.must(r.leftover != inside, "what rank %d left behind runs on", i)
	}
}

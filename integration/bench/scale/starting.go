package scale

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree/pacing"
)

// begin starts golaunch, up to the connection to the root.
func (s *sim) begin() {
	all := make([]job.HostIndex, s.nodes)
	for i := range all {
		all[i] = job.HostIndex(i)
	}
	s.head.below = len(all)
	s.work(&s.head, s.Begin, func() {
		s.head.ready.Expect(2) // its own, and the one part
		s.startPart(&s.head, all)
		s.readyIf(&s.head, s.head.ready.Skip())
	})
}

// takeRange has an agent start the hosts below it.
func (s *sim) takeRange(n *node, below []job.HostIndex) {
	s.aside(n, s.Warden, func() {
		n.warden = true
		s.startRanks(n)
	})
	n.ready.Expect(1)
	if len(below) > 0 {
		n.below = len(below)
		for _, part := range s.shape.cut(below) {
			n.ready.Expect(1)
			s.startPart(n, part)
		}
	}
	s.readyIf(n, n.ready.Add(readyPart{live: 1}))
}

// startPart starts an agent on a host of a part, which starts the rest.
func (s *sim) startPart(n *node, part []job.HostIndex) {
	p := pacing.NewPart(len(part))
	over, begun := false, 0
	var try func(count int, hedge bool)
	end := func() {
		if !over {
			over = true
			s.readyIf(n, n.ready.Skip())
		}
	}
	settle := func(i int, up bool) {
		host := part[i]
		switch {
		case over: // the launcher has its root; that one starts this host again
		case !up:
			n.ready.Expect(1)
			n.ready.Add(readyPart{dead: 1})
			try(p.Failed(i), !p.Hedging())
		default:
			var rest []job.HostIndex
			if p.Join(i) {
				rest = part[p.Next():]
				if n == &s.head && !p.Done() {
					rest = nil
					for _, late := range p.Pending() {
						rest = append(rest, part[late])
					}
					rest = append(rest, part[p.Next():]...)
				}
			}
			s.joined(n, int(host), rest)
			if n == &s.head {
				end()
			}
		}
		if p.Done() {
			end()
		}
	}
	try = func(count int, hedge bool) {
		for i := p.Next() - count; i < p.Next(); i++ {
			s.attempt(n, int(part[i]), func() {
				if !hedge {
					return
				}
				begun++
				last := begun
				s.queue.After(pacing.HedgeAfter, func() {
					if !over && last == begun {
						try(p.Silent(), true)
					}
				})
			}, func(up bool) { settle(i, up) })
		}
	}
	try(p.Begin(), true)
}

// joined takes in an agent that has said hello, and tells it its range.
func (s *sim) joined(n *node, host int, rest []job.HostIndex) {
	child := &s.agents[host]
	child.starts++
	s.init(child, host)
	child.parent, child.depth = n, n.depth+1
	if n == &s.head {
		child.depth = 0
		s.out.connect = s.queue.Now()
	}
	s.out.depth = max(s.out.depth, child.depth)
	n.children = append(n.children, child)
	n.ready.Expect(1)
	bytes := framed(s.sizes.base)
	if len(rest) > 0 {
		bytes = s.sizes.rangeBytes(host, int(rest[0]), len(rest))
	}
	s.message(n, child, bytes, per(s.Encode, bytes), per(s.Decode, bytes), func() { s.takeRange(child, rest) })
}

// attempt makes one connection, in its turn, and reports whether an agent is
// up.
func (s *sim) attempt(n *node, host int, begun func(), then func(up bool)) {
	s.enter(n, func() {
		begun()
		began, inside := s.queue.Now(), true
		leave := func() {
			if inside {
				inside = false
				s.leave(n)
			}
		}
		s.queue.After(pacing.HedgeAfter, leave)
		over := func(up bool) {
			leave()
			if up { // a host that is not there tells nothing of the others
				n.places.Learn(s.queue.Now()-began, false)
				s.admit(n)
			}
			then(up)
		}
		if s.isDead(host) {
			s.queue.After(refusedFor, func() { over(false) })
			return
		}
		s.handshake(n, host, func() { over(true) })
	})
}

// enter does something when n's window has room.
func (s *sim) enter(n *node, do func()) {
	n.waiting = append(n.waiting, do)
	s.admit(n)
}

func (s *sim) leave(n *node) {
	n.places.Leave()
	n.one = false
	s.admit(n)
}

func (s *sim) admit(n *node) {
	for len(n.waiting) > 0 && !(s.shape.one && n.one) && n.places.Enter() {
		n.one = true
		do := n.waiting[0]
		if n.waiting = n.waiting[1:]; len(n.waiting) == 0 {
			n.waiting = nil
		}
		do()
	}
}

// handshake connects to a host and starts the agent there, up to its hello.
func (s *sim) handshake(n *node, host int, then func()) {
	there := s.machine
	if there == nil {
		there = &cores{queue: &s.queue, free: s.cpus}
	}
	client := func(d time.Duration, then func()) {
		n.load.cpu += d
		s.aside(n, d, then)
	}
	server := func(d time.Duration, then func()) {
		s.out.cpu += d
		there.run(d, then)
	}
	rounds := func(count int) time.Duration { return time.Duration(2*count) * s.Hop }
	wait := s.Wait
	if s.slow != nil {
		wait += s.slow(host)
	}
	// Half of the work on either side comes before the signature: the key
	// exchange; the session and its shell come after it.
	client(s.Client/2, func() {
		s.queue.After(rounds(s.Rounds)+wait, func() {
			server(s.Server/2, func() {
				s.sign(n, func() {
					client(s.Client-s.Client/2, func() {
						s.queue.After(rounds(s.RoundsEnd), func() {
							server(s.Server-s.Server/2+s.Agent, func() {
								s.queue.After(s.Hop, func() {
									n.load.messages++
									n.load.bytes += helloBytes
									s.work(n, s.Receive, then)
								})
							})
						})
					})
				})
			})
		})
	})
}

// sign has the launcher sign for a handshake of n.
func (s *sim) sign(n *node, then func()) {
	if s.unsigned {
		s.queue.After(0, then)
		return
	}
	if n == &s.head {
		s.head.load.cpu += s.Sign
		s.beside(&s.head, s.Sign, then)
		return
	}
	s.message(n, n.parent, signBytes, 0, 0, func() {
		s.sign(n.parent, func() {
			s.message(n.parent, n, signedBytes, 0, 0, then)
		})
	})
}

// readyIf tells the parent, or launches, once the subtree is complete.
func (s *sim) readyIf(n *node, complete bool) {
	if !complete {
		return
	}
	if n != &s.head {
		live := n.ready.Value().live
		bytes := s.sizes.readyBytes(min(n.host, s.nodes-live), live)
		s.message(n, n.parent, bytes, per(s.Encode, bytes), per(s.Decode, bytes), func() {
			s.readyIf(n.parent, n.parent.ready.Add(n.ready.Value()))
		})
		return
	}
	s.out.up, s.out.dead = s.queue.Now(), n.ready.Value().dead
	bytes := s.sizes.launchBytes()
	s.work(n, per(s.Encode, bytes), func() { s.sendLaunch(n) })
}

package scale

import "time"

// sendLaunch passes the launch message on, as it is.
func (s *sim) sendLaunch(n *node) {
	bytes := s.sizes.launchBytes()
	for _, g := range []interface{ Expect(int) }{&n.running, &n.fence, &n.done} {
		g.Expect(len(n.children))
		if n != &s.head {
			g.Expect(1)
		}
	}
	s.down(n, bytes, 0, func(child *node) {
		s.sendLaunch(child)
		s.work(child, per(s.Decode, bytes), func() {
			child.launch = true
			s.startRanks(child)
		})
	})
}

// startRanks has the warden start a node's ranks, once it is there and knows of
// them.
func (s *sim) startRanks(n *node) {
	if !n.warden || !n.launch || n.spawned {
		return
	}
	n.spawned = true
	warden := &thread{on: n.cores}
	batch := s.ranks // ranks that count as one task
	if s.machine != nil {
		batch = 1 // the ranks of all nodes come in turn
	}
	unborn, living := s.ranks, s.ranks
	for at := 0; at < s.ranks; at += batch {
		s.out.cpu += time.Duration(batch) * s.Spawn
		warden.run(time.Duration(batch)*s.Spawn, func() {
			if unborn -= batch; unborn == 0 {
				s.runningIf(n, n.running.Skip())
			}
			s.out.cpu += time.Duration(batch-1) * s.Run // on other processors
			s.aside(n, s.Run, func() {
				if living -= batch; living == 0 {
					s.exchanged(n)
				}
			})
		})
	}
}

func (s *sim) runningIf(n *node, complete bool) {
	switch {
	case !complete:
	case n == &s.head:
		s.out.started = s.queue.Now()
	default:
		s.message(n, n.parent, startedBytes, 0, 0, func() { s.runningIf(n.parent, n.parent.running.Skip()) })
	}
}

// requestsOfRank counts the PMI requests of a rank that puts one value and gets its two
// neighbours': init, three that ask for names and sizes, put, fence, two gets,
// finalize.
const requestsOfRank = 9

// exchanged is the end of a node's ranks, after the exchange if there is one:
// the aggregate of hcmab goes up, and all of it down.
func (s *sim) exchanged(n *node) {
	if s.exchange == 0 {
		s.doneIf(n, n.done.Skip())
		return
	}
	s.work(n, time.Duration(s.ranks*requestsOfRank)*s.Request, func() { s.fenceIf(n, n.fence.Skip()) })
}

func (s *sim) fenceIf(n *node, complete bool) {
	if !complete {
		return
	}
	if n.parent == &s.head {
		s.release(n)
		return
	}
	bytes := framed(3 + (n.below+1)*s.ranks*s.exchange)
	s.message(n, n.parent, bytes, 0, 0, func() { s.fenceIf(n.parent, n.parent.fence.Skip()) })
}

func (s *sim) release(n *node) {
	s.out.settled = max(s.out.settled, s.queue.Now())
	s.down(n, framed(3+s.nodes*s.ranks*s.exchange), 0, s.release)
	s.work(n, 0, func() { s.doneIf(n, n.done.Skip()) })
}

func (s *sim) doneIf(n *node, complete bool) {
	switch {
	case !complete:
	case n == &s.head:
		n.gone.Expect(len(n.children))
		s.queue.After(s.EndWait, func() { s.down(n, doneBytes, 0, s.leaveNode) })
	default:
		s.message(n, n.parent, doneBytes, 0, 0, func() { s.doneIf(n.parent, n.parent.done.Skip()) })
	}
}

// leaveNode takes a node down, after those below it.
func (s *sim) leaveNode(n *node) {
	n.gone.Expect(1 + len(n.children))
	s.down(n, doneBytes, 0, s.leaveNode)
	s.aside(n, s.End, func() { s.goneIf(n, n.gone.Skip()) })
}

func (s *sim) goneIf(n *node, complete bool) {
	switch {
	case !complete:
	case n == &s.head:
		s.out.down = s.queue.Now()
	default:
		s.message(n, n.parent, doneBytes, 0, 0, func() { s.goneIf(n.parent, n.parent.gone.Skip()) })
	}
}

package scale

import (
	"time"

	"github.com/golaunch/golaunch/integration/internal/event"
)

// rival has the times of another way of starting, phase by phase.
type rival struct {
	boot  time.Duration // of daemons
	spawn time.Duration // from there until all ranks run
	init  time.Duration // from there until all have their neighbours' values
}

func (r rival) whole() time.Duration { return r.boot + r.spawn + r.init }

// ring is a ring of daemons like MPD, with messages as cheap as golaunch's. Its daemons
// are started one after the other. The order to start goes round it, and so does the
// word that all runs. Each rank has a manager, which are a ring of their own; a fence
// is two rounds of it, and a value that somebody else has put is asked for and brought
// in one.
func ring(nodes, ranks int, c costs) rival {
	connection := c.connection() - c.Client + c.OpenSSH
	step := c.Receive + c.Send
	round := time.Duration(nodes)*(step+c.Hop) + time.Duration(nodes*(ranks-1))*step
	return rival{
		boot:  time.Duration(nodes) * connection,
		spawn: 2*time.Duration(nodes)*(step+c.Hop) + time.Duration(ranks)*c.Spawn,
		init:  c.Run + requestsOfRank*c.Request + 4*round,
	}
}

// perRank starts every rank by an ssh command of its own, as MVAPICH did before
// [Sridhar]; the ranks then connect to the launcher, which gathers their values and
// sends all of them to each.
func perRank(nodes, ranks, cpus int, c costs) rival {
	var q event.Queue
	head := &cores{queue: &q, free: cpus}
	total, up := nodes*ranks, 0
	var spawned time.Duration
	for range nodes {
		there := &cores{queue: &q, free: cpus}
		for range ranks {
			head.run(c.OpenSSH, func() {
				q.After(time.Duration(2*(c.Rounds+c.RoundsEnd))*c.Hop+c.Wait, func() {
					there.run(c.Server+c.Run, func() {
						if up++; up == total {
							spawned = q.Now()
						}
					})
				})
			})
		}
	}
	for q.Step() {
	}
	all := per(c.Byte, total*exchangeBytes)
	return rival{
		spawn: c.Begin + spawned,
		init:  2*c.Hop + requestsOfRank*c.Request + time.Duration(total)*(c.Receive+c.Send+all),
	}
}

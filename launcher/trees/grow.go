package trees

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// growth is hosts without agents that are being started because the job needs them, or in
// place of dead ones before the tree is up, as new ranges below the root.
type growth struct {
	first   job.HostIndex // of those hosts, which are the last of the tree
	early   bool          // before the tree is up
	opening *boot         // a task's until growthReady
	boot    *boot         // the same from then on: their keys and addresses are known
	died    []overlay.DeadHost
}

// growthReady is the event of the hosts' addresses and keys being known, or of a
// failure.
type growthReady struct{ err error }

// complete ends the start of hosts from here: the list of the living ones is there.
func (t *Tree) complete() {
	t.starting().seal()
	t.tellShared()
	t.settle(t.subtree.ReadyValue())
}

// settle takes in the living ones of the hosts that were started before the tree is up.
// It is up then, unless the job has others started in place of those that are dead.
func (t *Tree) settle(ready overlay.Ready) {
	tried := len(t.hosts)
	if g := t.growing; g != nil {
		tried -= int(g.first)
		for _, d := range t.died {
			if d.Index < g.first { // it was up, until now
				tried++
			}
		}
		g.boot.close()
		t.growing = nil
	}
	ready.Dead = append(ready.Dead, t.died...)
	t.died = nil
	ready.Settle()
	t.boot.explain(ready.Dead)
	t.live.Live = append(t.live.Live, ready.Live...)
	t.live.Dead = append(t.live.Dead, ready.Dead...)
	t.live.Settle()
	if t.job.HostsTried(ready.Dead, tried) {
		return
	}
	t.up = true
	t.clock.Mark("agents up")
	t.job.TreeUp()
}

// Replace begins to start agents in place of dead ones: on the last hosts of c, which has
// those before as they were.
func (t *Tree) Replace(c *Config) {
	g := t.grows(c, true)
	t.tasks.Go(func() { // ends when the keys are open, or with the job
		var err error
		g.opening, err = newBoot(t.ctx, c, t.id, t.inbox, t.report)
		t.Post(growthReady{err})
	})
}

// Extend begins to start agents on the last hosts of c, once the tree is up.
func (t *Tree) Extend(c *Config) {
	g := t.grows(c, false)
	common := t.boot.common
	common.MissAfter, common.LateAfter = 0, 0 // ranks are placed on them already: none may be missing
	g.opening = &boot{common: common, hosts: c.Entries}
	t.tasks.Go(func() { // ends when the keys are open, which were let go of at the launch, or with the job
		_, err := g.opening.open(t.ctx, c, nil, t.report) // the root's piper starts them
		t.Post(growthReady{err})
	})
}

// grows notes that the tree grows to the hosts of c.
func (t *Tree) grows(c *Config, early bool) *growth {
	t.growing = &growth{first: job.HostIndex(len(t.hosts)), early: early}
	t.hosts = c.Hosts
	return t.growing
}

// growthReady has the root start the hosts.
func (t *Tree) growthReady(e growthReady) {
	g := t.growing
	g.boot = g.opening
	if e.err == nil {
		g.boot.common.Grow(g.boot.hosts[g.first:])
	}
	switch {
	case t.killed:
	case e.err != nil && g.early:
		t.job.ReplaceFailed(e.err)
	case e.err != nil:
		t.grown(overlay.Ready{}, e.err)
	case !t.rooted(): // nobody lived: a new root is among these
		t.subtree.Grow(g.boot.starter, g.boot.common, g.boot.hosts[g.first:], 1)
	default:
		for slot := range t.subtree.Children {
			t.subtree.Extend(slot, g.boot.hosts[g.first:])
			g.boot.allow(t.subtree.Host(slot).Index, g.boot.hosts[g.first:])
		}
		t.Send(link.KVS, tree.Header{Kind: overlay.KindGrow, To: tree.Neighbor},
			overlay.Encode(overlay.Range{Hosts: g.boot.hosts[g.first:], Common: g.boot.common}))
	}
}

// starting returns the means to reach the hosts that are being started.
func (t *Tree) starting() *boot {
	if t.growing != nil && t.growing.boot != nil {
		return t.growing.boot
	}
	return t.boot
}

// grown takes in the further hosts that are up, or the reason that none is.
func (t *Tree) grown(ready overlay.Ready, err error) {
	g := t.growing
	if g.early {
		t.settle(ready)
		return
	}
	t.growing = nil
	g.boot.close()
	ready.Dead = append(ready.Dead, g.died...)
	ready.Settle()
	t.live.Live = append(t.live.Live, ready.Live...)
	t.job.Grown(ready, err)
}

// hostsDied takes hosts out that were lost after they were ready, the first of
// them with its own cause.
func (t *Tree) hostsDied(dead []overlay.DeadHost) {
	switch {
	case len(dead) == 0:
	case !t.up:
		t.died = append(t.died, dead...)
	case t.growing != nil && dead[0].Index >= t.growing.first: // they hold nothing yet
		t.growing.died = append(t.growing.died, dead...)
	default:
		t.job.HostsLost(dead)
	}
}

// Without notes that the tree goes on without hosts.
func (t *Tree) Without(dead []overlay.DeadHost) {
	t.live.Dead = append(t.live.Dead, dead...)
	t.live.Settle()
}

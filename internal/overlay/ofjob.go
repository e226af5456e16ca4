package overlay

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// claims has all that a child may claim of one job, and the claims that come once. The
// child's mu guards it.
type claims struct {
	child    *Origin
	places   *places
	worlds   map[int]*share
	ranks    int // of all worlds so far
	failures Failures
	failed   int // times that a rank has, of all worlds so far
}

// share is a child's part of one world.
type share struct {
	ranks                  int
	started, done, drained bool // has come
}

// inJob returns a check of messages that are about a job, from one of its claims. Those of
// the parent are for their receiver to judge.
func inJob[T any](check func(*claims, tree.Header, T) error) func(*Origin, tree.Header, T) error {
	return func(o *Origin, h tree.Header, message T) error {
		if o.parent {
			return nil
		}
		c, err := o.claimsIn(h.Job)
		if err != nil {
			return err
		}
		return check(c, h, message)
	}
}

// claimsIn returns the child's claims in a job, or errJobOver. o.mu is held, so that none
// come back that forgetJob lets go of.
func (o *Origin) claimsIn(n job.Number) (*claims, error) {
	if c := o.jobs[n]; c != nil {
		return c, nil
	}
	p, err := o.worlds.find(n)
	if err != nil {
		return nil, err
	}
	c := &claims{child: o, places: p, worlds: map[int]*share{}}
	o.jobs[n] = c
	return c, nil
}

// ranksOf bounds the ranks that the child may speak of: those of a job. Of the tree, and of
// a job that is over, they are as many as all jobs together have ever had at a time. o.mu is
// held.
func (o *Origin) ranksOf(n job.Number) int {
	if c := o.jobs[n]; c != nil {
		return c.ranks
	}
	return o.most
}

// begin makes a world known.
func (o *Origin) begin(n job.Number, world int, blocks []job.Block) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, err := o.claimsIn(n)
	if err != nil {
		return
	}
	s := &share{}
	for _, b := range blocks {
		if o.nodes.Has(b.Host) {
			s.ranks += b.Count
		}
	}
	c.worlds[world] = s
	c.ranks += s.ranks
	o.ranks += s.ranks
	o.most = max(o.most, o.ranks)
}

// forget lets go of a world that is over.
func (o *Origin) forget(n job.Number, world int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.jobs[n]; c != nil {
		delete(c.worlds, world)
	}
}

// forgetJob lets go of a job that is over.
func (o *Origin) forgetJob(n job.Number) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.jobs[n]; c != nil {
		o.ranks -= c.ranks
		delete(o.jobs, n)
	}
}

// rank refuses a rank that is not on a host of the child. Of worlds that are over
// nobody knows where ranks were.
func (c *claims) rank(world int, r job.Rank, host job.HostIndex) error {
	if err := c.child.host(host); err != nil {
		return err
	}
	blocks, over, err := c.places.find(world)
	if err != nil || over {
		return err
	}
	if b := job.BlockOf(blocks, r); b == nil || b.Host != host {
		return fmt.Errorf("rank %v is not on %s", job.RankID{World: world, Rank: r}, c.child.called(host))
	}
	return nil
}

// share returns the child's share of a world that is not over.
func (c *claims) share(world int) (*share, error) {
	s := c.worlds[world]
	if s == nil || s.ranks == 0 {
		return nil, fmt.Errorf("world %d has no ranks below it", world)
	}
	return s, nil
}

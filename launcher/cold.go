package launcher

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher/trees"
)

// cold is a tree with one job, which ends with it.
type cold struct {
	job    *run
	tree   *trees.Tree
	events []overlay.Event
}

// newCold opens the resources of both.
func newCold(ctx context.Context, o Options, plan *Plan, report *reporter, stdio IO, caught chan os.Signal) (*cold, error) {
	r := &run{number: job.Cold, options: o, plan: plan, report: report, account: account{stdout: stdio.Stdout, profiles: newProfiles()}, signals: signals{caught: caught}}
	r.join()
	t := trees.New(r, report)
	r.tree = t
	if err := r.open(stdio); err != nil {
		return nil, err
	}
	return &cold{job: r, tree: t}, t.Open(ctx, r.treeConfig(), r.output.take)
}

// run carries the job out, from the first connection of the tree to the last END, and
// returns golaunch's exit status.
func (c *cold) run() int {
	r := c.job
	r.signals.catch()
	c.tree.KnowJob(r.number)
	c.tree.Begin()
	r.progress.watch()

	var timeout <-chan time.Time
	if r.options.Ending.Timeout > 0 {
		t := time.NewTimer(r.options.timeLeft())
		defer t.Stop()
		timeout = t.C
	}
	ended := c.tree.Context().Done()
	for !r.over {
		select {
		case <-c.tree.Woken():
			c.handleAll()
		case s := <-r.signals.caught:
			r.signals.act(s.(syscall.Signal))
		case s := <-r.signals.realTime:
			r.signals.act(s.(syscall.Signal))
		case <-ended:
			ended = nil
			r.signals.act(contextEnded)
		case <-timeout:
			r.timedOut()
		}
	}
	r.windUp()
	c.tree.End(r.left)
	r.notes.tell()
	return r.judge()
}

// handleAll handles the events that wait.
func (c *cold) handleAll() {
	c.events = c.tree.Take(c.events)
	for _, e := range c.events {
		c.handle(e)
	}
}

// handle has the tree handle an event, or the job.
func (c *cold) handle(e overlay.Event) {
	if !c.tree.Handle(e) {
		c.job.handle(e)
	}
}

// close releases everything. It takes a few seconds at most, in which signals wait for the
// next attempt; where there is none they come to nothing: the job has its status.
func (c *cold) close() {
	c.job.endInput()
	c.tree.Close()
	c.job.close()
}

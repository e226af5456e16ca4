package main

import (
	"time"

	"github.com/golaunch/golaunch/integration/internal/event"
)

// cores are processors that processes share. A task gets one for a slice of
// time, then it is the next one's turn.
type cores struct {
	queue   *event.Queue
	free    int
	slice   time.Duration // 0: every task runs to its end
	waiting []task
}

type task struct {
	left time.Duration
	then func()
}

// run has a task of length d done, and then what follows from it.
func (c *cores) run(d time.Duration, then func()) {
	if c.free > 0 { // then nobody waits
		c.begin(task{d, then})
	} else {
		c.waiting = append(c.waiting, task{d, then})
	}
}

// begin gives a task a processor that is free.
func (c *cores) begin(t task) {
	c.free--
	step := t.left
	if c.slice > 0 {
		step = min(step, c.slice)
	}
	c.queue.After(step, func() {
		c.free++
		if t.left -= step; t.left > 0 {
			c.waiting = append(c.waiting, t)
		}
		for c.free > 0 && len(c.waiting) > 0 {
			next := c.waiting[0]
			c.waiting[0] = task{}
			if c.waiting = c.waiting[1:]; len(c.waiting) == 0 {
				c.waiting = nil
			}
			c.begin(next)
		}
		if t.left <= 0 {
			t.then()
		}
	})
}

// thread is a process that does one thing at a time, in the order in which
// things come: an agent's event loop, a warden.
type thread struct {
	on    *cores
	tasks []task
	busy  bool
}

func (t *thread) run(d time.Duration, then func()) {
	t.tasks = append(t.tasks, task{d, then})
	if !t.busy {
		t.next()
	}
}

func (t *thread) next() {
	if t.busy = len(t.tasks) > 0; !t.busy {
		t.tasks = nil
		return
	}
	first := t.tasks[0]
	t.tasks[0] = task{}
	t.tasks = t.tasks[1:]
	t.on.run(first.left, func() {
		first.then()
		t.next()
	})
}

package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// fault is something that happens to a job.
type fault struct {
	name   string
	before bool // it is there when the job starts
	strike strike
	codes  []int // golaunch's exit status where it ends the job
	blames bool  // the node is named then
	deaf   bool  // the warden hears nothing, maybe while it starts ranks
	silent bool  // it is noticed after lostAfter
	cuts   bool  // sshd does not learn that connections are over
	dead   bool  // nobody on the node could remove anything
	// orphans tells that nobody ends a stopped process on the node.
	orphans bool
	memory  bool // the machine has to bound the memory of nodes
	// starves tells that programs on the node may fail in any way, for want of something.
	starves bool
	// again tells that it harms one attempt of a job (--restarts), and no later one.
	again bool
	// of selects the jobs that it harms, nil for all.
	of func(d drawn) bool
}

// strike lets a blow fall, and returns the way to undo it, or nil.
type strike func(j *job, b blow) (undo func() error, err error)

// blow is a fault as it was drawn.
type blow struct {
	*fault
	node  string
	early bool // after the start of golaunch, not of the ranks
	after time.Duration
	lasts time.Duration // of a blow that can be undone
	size  int64         // bytes of memory, where it takes some
}

func (b blow) String() string {
	switch {
	case b.before && b.memory:
		return fmt.Sprintf("%s, %s, %d KiB", b.name, b.node, b.size>>10)
	case b.before:
		return fmt.Sprintf("%s, %s", b.name, b.node)
	case b.memory:
		return fmt.Sprintf("%s, %s, %d KiB, %v after %s, for %v", b.name, b.node, b.size>>10, b.after, b.when(), b.lasts)
	}
	return fmt.Sprintf("%s, %s, %v after %s, for %v", b.name, b.node, b.after, b.when(), b.lasts)
}

// when names the event that its time counts from.
func (b blow) when() string {
	if b.early {
		return "start"
	}
	return "ranks"
}

// drawBlow draws one for a job: often one of those that harm few jobs, where there is
// one. There may be none at all.
func (p place) drawBlow(r *rand.Rand, d drawn) (b blow, some bool) {
	of := func(own bool) (list []*fault) {
		for _, f := range p.faults {
			if (f.of != nil) == own && (!own || f.of(d)) {
				list = append(list, f)
			}
		}
		return list
	}
	from := of(false)
	if own := of(true); len(own) > 0 && (len(from) == 0 || r.IntN(3) == 0) {
		from = own
	}
	if len(from) == 0 {
		return blow{}, false
	}
	b = blow{fault: pick(r, from), node: pick(r, d.hosts), early: r.IntN(3) == 0}
	longest := 300
	if b.early {
		longest = 600 // start-up takes about so long
	}
	b.after = time.Duration(r.IntN(longest)) * time.Millisecond
	b.lasts = pick(r, []time.Duration{300 * time.Millisecond, time.Second, 5 * time.Second})
	b.size = pick(r, []int64{64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20})
	return b, true
}

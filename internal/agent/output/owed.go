package output

import (
	"slices"

	"github.com/golaunch/golaunch/tree"
)

// owed is who may still have output, of which world: pipes of this node's ranks,
// and children. Pure.
type owed struct {
	worlds map[int]*share // that are not over
	newest int            // world that was opened; -1 before the first
	early  []earlyDrain   // of children that were faster than open
	unfed  int            // worlds of which local pipes may still come
	local  int            // pipes open, of all worlds
	ripe   bool           // some world may have no local pipe any more
}

// share is the output of one world: of this node, and of the children that take
// part in it.
type share struct {
	children map[tree.Slot]bool // that may have more
	local    int                // pipes open
	fed      bool               // every local pipe was added
	own      bool               // this node has no more
}

// earlyDrain is a child's word that it has no more output of a world that was
// not opened here yet.
type earlyDrain struct {
	world int
	slot  tree.Slot
}

func newOwed() owed { return owed{worlds: map[int]*share{}, newest: -1} }

// open begins a world.
func (o *owed) open(world int, children []tree.Slot) {
	s := &share{children: map[tree.Slot]bool{}}
	for _, slot := range children {
		if !slices.Contains(o.early, earlyDrain{world, slot}) {
			s.children[slot] = true
		}
	}
	o.early = slices.DeleteFunc(o.early, func(d earlyDrain) bool { return d.world <= world })
	o.worlds[world], o.newest = s, world
	o.unfed++
}

// drain notes that a child has no more output of a world, or is lost, and reports
// whether nobody has any more.
func (o *owed) drain(world int, slot tree.Slot) (over bool) {
	if d := (earlyDrain{world, slot}); world > o.newest {
		if !slices.Contains(o.early, d) { // a child at fault says it again and again
			o.early = append(o.early, d)
		}
		return false
	}
	s := o.worlds[world]
	if s == nil {
		return false
	}
	delete(s.children, slot)
	return o.overIf(world, s)
}

func (o *owed) overIf(world int, s *share) bool {
	if !s.own || len(s.children) > 0 {
		return false
	}
	delete(o.worlds, world)
	return true
}

// pipe counts a pipe that was opened (1) or closed (-1).
func (o *owed) pipe(world, n int) {
	o.local += n
	if s := o.worlds[world]; s != nil { // else complete was said: the warden is lost
		s.local += n
	}
	o.ripe = o.ripe || n < 0
}

// owes reports more output that a child may have, of some world.
func (o *owed) owes(slot tree.Slot) bool {
	for _, s := range o.worlds {
		if s.children[slot] {
			return true
		}
	}
	return false
}

// has tells whether this node may have output of a world still.
func (o *owed) has(world int) bool {
	s := o.worlds[world]
	return s != nil && !s.own
}

// complete notes that no more pipes of a world will be opened.
func (o *owed) complete(world int) {
	if s := o.worlds[world]; s != nil && !s.fed {
		s.fed, o.ripe = true, true
		o.unfed--
	}
}

// settle counts this node out of worlds whose local pipes are all closed. It
// returns those of which nobody has any more, and whether anything may have become
// quiet.
func (o *owed) settle() (over []int, ripe bool) {
	ripe = o.ripe
	if o.ripe = false; !ripe {
		return nil, false
	}
	for world, s := range o.worlds {
		if s.fed && s.local == 0 && !s.own {
			s.own = true
			if o.overIf(world, s) {
				over = append(over, world)
			}
		}
	}
	slices.Sort(over)
	return over, true
}

// quiet reports whether nothing on this node can write to a rank's output.
func (o *owed) quiet() bool { return o.unfed == 0 && o.local == 0 }

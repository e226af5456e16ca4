package rooted

import (
	"slices"

	"github.com/golaunch/golaunch/network/netsim"
)

// Tree has the rank by which each rank is reached from a root.
type Tree struct {
	Root int32
	// Children has those of each rank in the order in which it sends to them.
	Children [][]int32
}

// NewTree makes a tree of groups of ranks, 0.. in all: the first ranks of the groups
// are their leaders, which are in a k-nomial tree in the order of the groups; below
// each leader the ranks of its group are in one of their own. The very first rank is
// the root. A leader sends to leaders first. With one group it is a k-nomial tree;
// k is at least 2, which is a binomial tree.
func NewTree(groups [][]int32, k int) *Tree {
	var leaders []int32
	ranks := 0
	for _, group := range groups {
		leaders = append(leaders, group[0])
		ranks += len(group)
	}
	t := &Tree{Children: make([][]int32, ranks)}
	if ranks > 0 {
		t.Root = leaders[0]
	}
	for _, list := range append([][]int32{leaders}, groups...) {
		for place, children := range knomial(len(list), k) {
			for _, child := range children {
				t.Children[list[place]] = append(t.Children[list[place]], list[child])
			}
		}
	}
	return t
}

// knomial returns the children of each place of a k-nomial tree, those with the largest
// subtrees first. Place 0 is the root. The children of a place differ from it in one
// digit to the base of k, one of those behind its own last that is not 0.
func knomial(places, k int) [][]int32 {
	children := make([][]int32, places)
	for place := range places {
		for weight := 1; weight < places && place/weight%k == 0; weight *= k {
			for digit := k - 1; digit > 0; digit-- {
				if child := place + digit*weight; child < places {
					children[place] = append(children[place], int32(child))
				}
			}
		}
		slices.Reverse(children[place])
	}
	return children
}

// subtrees has how many ranks are in the subtree of each, itself among them.
func subtrees(root int32, children [][]int32) []int64 {
	size := make([]int64, len(children))
	for _, rank := range slices.Backward(breadthFirst(root, children)) {
		size[rank] = 1
		for _, child := range children[rank] {
			size[rank] += size[child]
		}
	}
	return size
}

// breadthFirst lists a tree level by level.
func breadthFirst(root int32, children [][]int32) []int32 {
	if len(children) == 0 {
		return nil
	}
	list := []int32{root}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list
}

// Broadcast has all ranks get the same bytes. A rank sends one message in a stage.
func (t *Tree) Broadcast(bytes int64) netsim.Schedule {
	return t.schedule("broadcast", func(int32) int64 { return bytes }, false)
}

// Scatter has each rank get that many bytes of its own from the root. A message holds
// those of a whole subtree.
func (t *Tree) Scatter(bytes int64) netsim.Schedule {
	size := subtrees(t.Root, t.Children)
	return t.schedule("scatter", func(rank int32) int64 { return bytes * size[rank] }, false)
}

// Gather is Scatter backward: the root gets that many bytes from each rank.
func (t *Tree) Gather(bytes int64) netsim.Schedule {
	size := subtrees(t.Root, t.Children)
	return t.schedule("gather", func(rank int32) int64 { return bytes * size[rank] }, true)
}

// schedule has each rank get its message in the stage after that in which its parent
// has sent the one before, or backward.
func (t *Tree) schedule(name string, bytes func(child int32) int64, backward bool) netsim.Schedule {
	var stages [][]netsim.Message
	reached := make([]int, len(t.Children)) // the first stage in which a rank sends
	for _, rank := range breadthFirst(t.Root, t.Children) {
		for i, child := range t.Children[rank] {
			s := reached[rank] + i
			reached[child] = s + 1
			for len(stages) <= s {
				stages = append(stages, nil)
			}
			m := netsim.Message{From: rank, To: child, Size: bytes(child)}
			if backward {
				m.From, m.To = m.To, m.From
			}
			stages[s] = append(stages[s], m)
		}
	}
	if backward {
		slices.Reverse(stages)
	}
	return netsim.Schedule{Name: name, Ranks: len(t.Children), Stages: len(stages), Append: func(messages []netsim.Message, s int) []netsim.Message {
		return append(messages, stages[s]...)
	}}
}

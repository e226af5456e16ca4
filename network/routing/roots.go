package routing

import (
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/topology"
)

// components numbers the connected parts of a network's switches.
func components(g *topology.Graph) []int32 {
	part := slices.Repeat([]int32{-1}, g.Switches())
	count := int32(0)
	for s := range part {
		if part[s] >= 0 {
			continue
		}
		for _, t := range breadth(g, s, nil) {
			part[t] = count
		}
		count++
	}
	return part
}

// breadth lists the switches that are connected to s, those nearest first, and
// fills in their distances from it.
func breadth(g *topology.Graph, s int, distance []int32) []int {
	if distance == nil {
		distance = make([]int32, g.Switches())
	}
	for i := range distance {
		distance[i] = -1
	}
	distance[s] = 0
	queue := []int{s}
	for k := 0; k < len(queue); k++ {
		for _, p := range g.Ports(g.Switch(queue[k])) {
			if t := g.SwitchIndex(p.Peer); t >= 0 && distance[t] < 0 {
				distance[t] = distance[queue[k]] + 1
				queue = append(queue, t)
			}
		}
	}
	return queue
}

// rootOrder makes a root of each connected part with hosts: a switch in the
// middle of a longest way between two that have hosts. The order is by distance
// from it. It returns the roots' names.
func (u *UpDown) rootOrder(parts []int32) string {
	g := u.graph
	u.order, u.div = make([]int32, g.Switches()), slices.Repeat([]int{1}, g.Switches())
	hosted := make([]bool, g.Switches())
	for _, at := range u.at {
		for _, s := range at {
			hosted[s] = true
		}
	}
	distance := make([]int32, g.Switches())
	done := map[int32]bool{}
	var names []string
	for s := range u.order {
		if !hosted[s] || done[parts[s]] {
			continue
		}
		done[parts[s]] = true
		root := middle(g, s, hosted, distance)
		names = append(names, g.Name(g.Switch(root)))
		for _, t := range breadth(g, root, distance) {
			u.order[t] = distance[t]*int32(g.Switches()) + int32(t)
		}
	}
	u.divisors(hosted)
	return strings.Join(names, ", ")
}

// middle returns a switch in the middle of a long way from a switch that is as far
// from s as any with hosts.
func middle(g *topology.Graph, s int, hosted []bool, distance []int32) int {
	farthest := func(queue []int) int {
		for _, t := range slices.Backward(queue) {
			if hosted[t] {
				return t
			}
		}
		return queue[0]
	}
	a := farthest(breadth(g, s, distance))
	b := farthest(breadth(g, a, distance))
	for steps := distance[b] / 2; steps > 0; steps-- {
		for _, p := range g.Ports(g.Switch(b)) {
			if t := g.SwitchIndex(p.Peer); t >= 0 && distance[t] == distance[b]-1 {
				b = t
				break
			}
		}
	}
	return b
}

// divisors spreads destinations over equal links level by level: a switch next to hosts
// decides by the index modulo the number of its links upward, the next ones by the
// index divided by that number.
func (u *UpDown) divisors(hosted []bool) {
	g := u.graph
	height := slices.Repeat([]int{-1}, g.Switches())
	var queue []int
	for s, ok := range hosted {
		if ok {
			height[s] = 0
			queue = append(queue, s)
		}
	}
	var widest []int // links upward of a switch of each height
	for k := 0; k < len(queue); k++ {
		s, wide := queue[k], 0
		for _, p := range g.Ports(g.Switch(s)) {
			t, ok := u.peer(p)
			if ok && height[t] < 0 {
				height[t] = height[s] + 1
				queue = append(queue, t)
			}
			if ok && u.order[t] < u.order[s] {
				wide++
			}
		}
		if height[s] == len(widest) {
			widest = append(widest, 1)
		}
		widest[height[s]] = max(widest[height[s]], wide)
	}
	div := make([]int, len(widest)+1)
	div[0] = 1
	for i, w := range widest {
		div[i+1] = min(div[i]*w, topology.MaxNodes)
	}
	for s, h := range height {
		if h >= 0 {
			u.div[s] = div[h]
		}
	}
}

package sched

import (
	"cmp"
	"slices"
)

// Select chooses hosts for a job among those that are free, of which there are enough.
// Link is the link above the leaf switch that each host's messages arrive by; hosts of
// the same number share one.
type Select func(free []bool, link []int32, hosts int) []int

// Way is a way to choose hosts, by its name.
type Way struct {
	Name   string
	Select Select
}

// Ways returns the table of them; resource managers do the first.
func Ways() []Way {
	return []Way{{"first-fit", FirstFit}, {"avoid-conflicts", Avoid}}
}

// FirstFit takes the first hosts that are free.
func FirstFit(free []bool, _ []int32, hosts int) []int {
	var chosen []int
	for h, is := range free {
		if is && len(chosen) < hosts {
			chosen = append(chosen, h)
		}
	}
	return chosen
}

// Avoid takes the first free hosts that share no link with one that it has taken; where
// these are too few it goes on with the second host of each link, and so on, which adds
// the fewest pairs that share, so that no job waits for hosts [Subramoni 8.2.2.1].
func Avoid(free []bool, link []int32, hosts int) []int {
	var idle []int
	before, on := make([]int, len(free)), map[int32]int{} // before each host on its link
	for h, is := range free {
		if is {
			idle = append(idle, h)
			before[h] = on[link[h]]
			on[link[h]]++
		}
	}
	slices.SortStableFunc(idle, func(a, b int) int { return cmp.Compare(before[a], before[b]) })
	return idle[:hosts]
}

// Pairs counts the pairs of a job's hosts that share a link.
func Pairs(link []int32, hosts []int) int {
	pairs, on := 0, map[int32]int{}
	for _, h := range hosts {
		pairs += on[link[h]]
		on[link[h]]++
	}
	return pairs
}

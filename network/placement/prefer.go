package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement/sched"
	"github.com/golaunch/golaunch/network/topology"
)

// Prefer returns the positions of the hosts of in, those first that are to hold ranks
// where there are more than it takes, and otherwise as they were. Topology and Comm
// take hosts below the fewest leaf switches; w.AvoidConflicts takes none that share the
// link above their switch, if possible [Subramoni 8.2.2]. Listed hosts are first. notes
// name the parts of a wish that could not be had.
func (w *Wish) Prefer(in *Input) (order []int, notes []string) {
	order, _ = inTheirOrder(in)
	var chosen []int
	switch r := w.row(); {
	case r.listed:
		chosen = w.seats.named(in)
	case !r.mapped && !w.AvoidConflicts || in.Network == nil || in.Apps == nil:
		return order, nil
	default:
		chosen, notes = w.choose(in)
	}
	first := make([]bool, len(order))
	for _, h := range chosen {
		first[h] = true
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(rank01(first[a]), rank01(first[b]))
	})
	return order, notes
}

// rank01 sorts: it returns 0 for elements that come first.
func rank01(first bool) int {
	if first {
		return 0
	}
	return 1
}

// choose chooses hosts for the ranks of in by the network; none where all are
// needed.
func (w *Wish) choose(in *Input) (chosen []int, notes []string) {
	room, n, err := in.room()
	if w.row().dealt { // as many hosts as possible are used
		for i := range room {
			room[i] = min(room[i], 1)
		}
	}
	if err != nil || total(room) <= n || !w.row().dealt && !slices.Contains(used(in, room), 0) {
		return nil, nil // all of them, whatever they share
	}
	groups, known := in.leaves()
	if known == 0 {
		return nil, nil
	}
	if !w.AvoidConflicts {
		return fewestGroups(groups, room, n), nil
	}
	links, err := in.links()
	if err != nil {
		return fewestGroups(groups, room, n), []string{fmt.Sprintf("--avoid-path-conflict: %v; hosts are chosen by their switches alone", err)}
	}
	apart := make([][]int, len(groups))
	for i, group := range groups {
		seen := map[int32]bool{}
		for _, h := range group {
			if !seen[links[h]] {
				seen[links[h]] = true
				apart[i] = append(apart[i], h)
			}
		}
	}
	if chosen = fewestGroups(apart, room, n); chosen != nil {
		return chosen, nil
	}
	chosen = relaxed(links, room, n)
	return chosen, []string{fmt.Sprintf("--avoid-path-conflict: too few hosts have a link to themselves; these of %s share one above their switch: %s",
		plural(len(chosen), "host"), fold(in, sharing(links, chosen)))}
}

// used counts the ranks that each host would hold by rule slot.
func used(in *Input, room []int) []int {
	counts := make([]int, len(room))
	if runs, err := (slotRule{}).Place(in); err == nil {
		for _, r := range runs {
			counts[r.Host] += r.Count
		}
	}
	return counts
}

// fewestGroups takes hosts of the fewest groups that have room for n ranks, of the last
// group no more than it takes; nil if all of them have not.
func fewestGroups(groups [][]int, room []int, n int) []int {
	size := func(group []int) (sum int) {
		for _, h := range group {
			sum += room[h]
		}
		return sum
	}
	groups = slices.Clone(groups)
	slices.SortStableFunc(groups, func(a, b []int) int { return cmp.Compare(size(b), size(a)) })
	var chosen []int
	for i, group := range groups {
		if size(group) < n {
			chosen = append(chosen, group...)
			n -= size(group)
			continue
		}
		for _, other := range groups[i:] { // the smallest that suffices, the first of these
			if s := size(other); s >= n && s < size(group) {
				group = other
			}
		}
		for _, h := range group {
			if n > 0 && room[h] > 0 {
				chosen = append(chosen, h)
				n -= room[h]
			}
		}
		return chosen
	}
	return nil
}

// relaxed takes hosts with room for n ranks, of which the fewest pairs share a link.
func relaxed(links []int32, room []int, n int) []int {
	free := make([]bool, len(room))
	hosts := 0
	for h := range free {
		if free[h] = room[h] > 0; free[h] {
			hosts++
		}
	}
	all := sched.Avoid(free, links, hosts)
	for i, h := range all {
		if n -= room[h]; n <= 0 {
			return all[:i+1]
		}
	}
	return all
}

// sharing returns the chosen hosts that share a link with another of them.
func sharing(links []int32, chosen []int) (hosts []int) {
	on := map[int32]int{}
	for _, h := range chosen {
		on[links[h]]++
	}
	for _, h := range slices.Sorted(slices.Values(chosen)) {
		if on[links[h]] > 1 {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// links returns the link by which messages from elsewhere reach the leaf switch of each
// host; one of its own where there is none. The error is that of hosts without a
// route.
func (in *Input) links() ([]int32, error) {
	links := make([]int32, len(in.Hosts))
	var nodes []topology.Node
	var of []int
	for i, n := range in.Network.Nodes {
		links[i] = -1 - int32(i)
		if n != topology.NoNode && in.Network.Router.Graph().OnlyLeaf(n) != topology.NoNode {
			nodes, of = append(nodes, n), append(of, i)
		}
	}
	found, err := sched.Links(in.Network.Router, nodes)
	for i, link := range found {
		if link >= 0 {
			links[of[i]] = link
		}
	}
	return links, err
}

// fold names some hosts of in.
func fold(in *Input, some []int) string {
	hosts := make([]job.Host, len(some))
	for i, h := range some {
		hosts[i].Name = in.Hosts[h].Name
	}
	return hostlist.Fold(hosts)
}

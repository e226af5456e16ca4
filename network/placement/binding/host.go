// Package binding gives the ranks of a host CPUs of it: to each a core, a socket, a
// NUMA node, a level 3 cache or a CPU of a list, in turn.
//
// A CPU has a number of the kernel's: a processing unit of package node. No rank gets
// one that is not the job's.
//
// Not here: the hosts of ranks (package placement), the kernel's calls (packages
// internal/agent and internal/proc).
package binding

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/topology/node"
)

// Host has the CPUs of a host that ranks are bound to.
type Host struct {
	cores []core // with CPUs of ours, in the order in which ranks take them
	ours  []int  // ascending
	all   int    // CPUs of the host that are known
	// firstOf is the number of each socket's first core, of which the others follow.
	firstOf map[int]int
}

// core is a core with those of its CPUs that are ours.
type core struct {
	node.Core
	number  int   // among all cores of the host, node.None where it is not known
	threads []int // all CPUs of it
}

// New describes a host by its inside and the CPUs of it that are ours, in any order.
// Where n is nil, or lacks a CPU, nothing more is known of it than its number: it
// counts as a core.
func New(n *node.Node, ours []int) *Host {
	h := &Host{ours: slices.Compact(slices.Sorted(slices.Values(ours))), firstOf: map[int]int{}}
	left := map[int]bool{}
	for _, c := range h.ours {
		left[c] = true
	}
	if n != nil {
		for i, c := range n.Cores {
			h.all += len(c.PUs)
			if _, ok := h.firstOf[c.Package]; !ok {
				h.firstOf[c.Package] = i
			}
			threads := c.PUs
			c.PUs = slices.DeleteFunc(slices.Clone(c.PUs), func(cpu int) bool { return !left[cpu] })
			for _, cpu := range c.PUs {
				delete(left, cpu)
			}
			if len(c.PUs) > 0 {
				h.cores = append(h.cores, core{c, i, threads})
			}
		}
	}
	for _, cpu := range h.ours {
		if left[cpu] {
			h.all++
			h.cores = append(h.cores, core{node.Core{Package: node.None, NUMA: node.None, L3: node.None, PUs: []int{cpu}}, node.None, nil})
		}
	}
	return h
}

// CPUs returns ours, ascending. They are not to be changed.
func (h *Host) CPUs() []int { return h.ours }

// Within returns those CPUs of a list that are ours, ascending.
func (h *Host) Within(list []int) []int {
	return slices.DeleteFunc(slices.Clone(h.ours), func(c int) bool { return !slices.Contains(list, c) })
}

// place is a set of CPUs that ranks can be bound to.
type place struct {
	cpus []int // ascending
	room int   // ranks that have a core each there
	load int   // ranks that it has
}

// places returns those of a choice that binds, in the order in which ranks take them.
func (h *Host) places(choice Choice) ([]place, error) {
	switch choice.kind {
	case GPU:
		return nil, errors.New("the CPUs near GPUs are found by these")
	case List:
		if err := h.checkOurs(choice.cpus); err != nil {
			return nil, err
		}
		return singles(choice.cpus), nil
	case Thread:
		var places []place
		for _, c := range h.cores {
			places = append(places, singles(c.PUs)...)
		}
		return h.joinPlaces(places, choice.each)
	case Core:
		places := make([]place, len(h.cores))
		for i, c := range h.cores {
			places[i] = place{cpus: slices.Sorted(slices.Values(c.PUs)), room: 1}
		}
		return h.joinPlaces(places, choice.each)
	}
	var places []place
	at := map[int]int{}
	for _, c := range h.cores {
		number := c.part(choice.kind)
		if number == node.None {
			continue
		}
		j, ok := at[number]
		if !ok {
			j, at[number] = len(places), len(places)
			places = append(places, place{})
		}
		places[j].cpus = append(places[j].cpus, c.PUs...)
		places[j].room++
	}
	for i := range places {
		slices.Sort(places[i].cpus)
	}
	if len(places) == 0 {
		one, _ := choice.kind.nouns()
		return nil, fmt.Errorf("the kernel tells of no %s there; use --bind-to core, or none", one)
	}
	return places, nil
}

// singles returns places of one CPU each.
func singles(cpus []int) []place {
	places := make([]place, len(cpus))
	for i, c := range cpus {
		places[i] = place{cpus: []int{c}, room: 1}
	}
	return places
}

// joinPlaces makes one place of each few that follow each other in a socket. The rest of
// a socket, which is too little, is left out.
func (h *Host) joinPlaces(places []place, each int) ([]place, error) {
	if each < 2 || len(places) == 0 {
		return places, nil
	}
	socketOf := map[int]int{}
	for _, c := range h.cores {
		for _, cpu := range c.PUs {
			socketOf[cpu] = c.Package
		}
	}
	var groups []place
	for len(places) >= each {
		socket := socketOf[places[0].cpus[0]]
		n := 1
		for n < each && socketOf[places[n].cpus[0]] == socket {
			n++
		}
		if n == each {
			group := place{room: 1}
			for _, p := range places[:n] {
				group.cpus = append(group.cpus, p.cpus...)
			}
			slices.Sort(group.cpus)
			groups = append(groups, group)
		}
		places = places[n:]
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("no socket of the host has %d of them for a rank (the job may use %s %s); choose fewer, or --bind-to none",
			each, count(len(h.ours), "CPU", "CPUs"), Format(h.ours))
	}
	return groups, nil
}

// part returns the number of the part that the core is in.
func (c *core) part(k Kind) int {
	switch k {
	case Socket:
		return c.Package
	case NUMA:
		return c.NUMA
	}
	return c.L3
}

// nouns name the places of a kind, one and many. A table would be made at the start of
// every agent.
func (k Kind) nouns() (one, many string) {
	switch k {
	case Thread:
		return "hardware thread", "hardware threads"
	case Socket:
		return "socket", "sockets"
	case NUMA:
		return "NUMA node", "NUMA nodes"
	case L3:
		return "L3 cache", "L3 caches"
	case List:
		return "CPU of the list", "CPUs of the list"
	}
	return "core", "cores"
}

// checkOurs refuses CPUs that are not ours.
func (h *Host) checkOurs(cpus []int) error {
	others := slices.DeleteFunc(slices.Sorted(slices.Values(cpus)), func(c int) bool {
		_, found := slices.BinarySearch(h.ours, c)
		return found
	})
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("%s not the job's to use there: %s, by the affinity or the cgroup of golaunch's agent; choose among these",
		areOrIs(others), areOrIs(h.ours))
}

// areOrIs names CPUs as the subject of a sentence, such as "CPUs 0-1 are".
func areOrIs(cpus []int) string {
	return count(len(cpus), "CPU "+Format(cpus)+" is", "CPUs "+Format(cpus)+" are")
}

func count(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Describe names the place of CPUs on the host, such as "core 4 of socket 0"; "" if it
// is not known. Cores are numbered through the host in the order in which ranks take
// them, whether they are ours or not; sockets as package node does.
func (h *Host) Describe(cpus []int) string {
	wanted := map[int]bool{}
	for _, c := range cpus {
		wanted[c] = true
	}
	var cores, sockets []int
	thread := ""
	for _, c := range h.cores {
		if !slices.ContainsFunc(c.PUs, func(cpu int) bool { return wanted[cpu] }) {
			continue
		}
		if c.number == node.None {
			return ""
		}
		cores = append(cores, c.number)
		if !slices.Contains(sockets, c.Package) {
			sockets = append(sockets, c.Package)
		}
		if len(cpus) == 1 && len(c.PUs) > 1 {
			thread = fmt.Sprintf("thread %d of ", slices.Index(c.threads, cpus[0]))
		}
	}
	if len(cores) == 0 {
		return ""
	}
	slices.Sort(sockets)
	text := thread + count(len(cores), "core ", "cores ") + Format(cores)
	if sockets[0] == node.None {
		return text
	}
	return text + " of " + count(len(sockets), "socket ", "sockets ") + Format(sockets)
}

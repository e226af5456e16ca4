package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/placement"
)

// What other launchers have after --map-by, --rank-by and the like. Their words for
// parts of a host (core, socket, ...) say how ranks are spread within it; hosts are
// filled one after the other all the same.

// asSlot are words that place ranks as --map-by slot does, apart from where on a
// host they run.
var asSlot = map[string]bool{"slot": true, "core": true, "hwthread": true}

// boundParts are words for parts of a host that ranks take in turn, and are bound to,
// as --bind-to has it.
var boundParts = map[string]string{
	"socket": "socket", "package": "socket", "numa": "numa", "numanode": "numa", "l3cache": "l3",
}

// mapBy is Open MPI's and Hydra's value. golaunch's own it leaves as they are.
func mapBy(v []string) ([]string, string) {
	word := v[0]
	if _, _, err := placement.Cut(word); err == nil {
		return []string{"--map-by", word}, ""
	}
	parts := strings.Split(strings.ToLower(word), ":")
	if first, rest, _ := strings.Cut(word, ":"); strings.EqualFold(first, "rankfile") {
		key, file, ok := strings.Cut(rest, "=")
		if !ok || !strings.EqualFold(key, "file") {
			return nil, answerRankFile
		}
		return rankFile([]string{file})
	}
	var flags []string
	switch {
	case parts[0] == "" && len(parts) > 1: // modifiers alone
		parts = parts[1:]
	case asSlot[parts[0]]:
		flags, parts = []string{"--map-by", "slot"}, parts[1:]
	case parts[0] == "node" || parts[0] == "seq":
		flags, parts = []string{"--map-by", parts[0]}, parts[1:]
	case parts[0] == "ppr" && len(parts) > 2 && parts[2] == "node":
		flags, parts = []string{"--ppn", parts[1]}, parts[3:]
	case parts[0] == "ppr":
		return nil, answerParts
	case boundParts[parts[0]] != "" && len(parts) == 1:
		return []string{"--map-by", "slot", "--bind-to", boundParts[parts[0]]}, ""
	case isPartOfHost(parts[0]) || parts[0] == "dist":
		return nil, answerWithin
	default:
		return []string{"--map-by", word}, "" // which says what its words are
	}
	for _, modifier := range parts {
		for m := range strings.SplitSeq(modifier, ",") {
			switch m {
			case "oversubscribe":
				flags = append(flags, "--oversubscribe")
			case "nooversubscribe":
			case "nolocal":
				return nil, answerInclude
			default:
				return nil, answerWithin
			}
		}
	}
	return flags, ""
}

// mapByElements is mapBy with PE=N, how many cores each rank has. These are of one socket
// in any case.
func mapByElements(p *pasted, v []string) ([]string, string) {
	value := v[0]
	if strings.Contains(strings.ToLower(value), "pe=") {
		rest, answer := p.elementsOf(value)
		if answer != "" {
			return nil, answer
		}
		value = rest
		if first, rest, _ := strings.Cut(value, ":"); boundParts[strings.ToLower(first)] != "" && p.elements > 1 {
			value = strings.TrimSuffix("slot:"+rest, ":")
		}
		if value == "" {
			return nil, ""
		}
	}
	return mapBy([]string{value})
}

// isPartOfHost knows the words for what a host consists of.
func isPartOfHost(word string) bool {
	switch word {
	case "socket", "package", "numa", "numanode", "board", "l1cache", "l2cache", "l3cache", "machine", "user":
		return true
	}
	return false
}

// rankBy is Open MPI's value. golaunch's own it leaves as they are.
func rankBy(v []string) ([]string, string) {
	switch {
	case asSlot[v[0]] || v[0] == "fill":
		return []string{"--rank-by", "slot"}, ""
	case isPartOfHost(v[0]) || v[0] == "span" || strings.Contains(v[0], ":"):
		return nil, "golaunch numbers ranks by hosts: --rank-by slot one after the other, --rank-by node each in turn"
	}
	return []string{"--rank-by", v[0]}, ""
}

// rankFile is the name of a rank file.
func rankFile(v []string) ([]string, string) {
	return []string{"--map-by", placement.File + v[0]}, ""
}

// distribution is srun's value, and that of mpirun_rsh of MVAPICH2's network-aware
// job launcher, pt2pt: by the communication graph of --metis-file.
func distribution(p *pasted, v []string) ([]string, string) {
	word, _, _ := strings.Cut(v[0], ",") // NoPack and Pack, of which golaunch has neither
	if size, ok := strings.CutPrefix(strings.ToLower(word), "plane="); ok {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return nil, "a plane has a number of ranks, as in plane=2"
		}
		p.plane = n
		return nil, ""
	}
	switch word {
	case "block", "block:block", "block:cyclic", "block:*", "*", "*:*":
		return []string{"--map-by", "slot"}, ""
	case "cyclic", "cyclic:block", "cyclic:cyclic", "cyclic:*":
		return []string{"--map-by", "node"}, ""
	case "pt2pt":
		return []string{"--map-by", "topology"}, ""
	case "arbitrary":
		return nil, answerRankMap
	}
	return nil, answerWithin
}

// deal puts blocks of ranks on each host in turn, as srun's plane does: each host has as
// many ranks as --map-by node would give it. It needs both numbers.
func (p *pasted) deal(flags []string) []string {
	if p.plane == 0 {
		return flags
	}
	ranks, _ := strconv.Atoi(p.valueOf(flags, "np")) // what is no number is refused with the flags
	hosts, _ := strconv.Atoi(p.valueOf(flags, "nodes"))
	if ranks < 1 || ranks > mostMapped || hosts < 1 || hosts > ranks {
		p.answers = append(p.answers, fmt.Sprintf("plane=%d: say how many ranks on how many hosts, as in -N 4 -n 16", p.plane))
		return flags
	}
	var b strings.Builder
	left := make([]int, hosts)
	for i := range left {
		left[i] = (ranks + hosts - 1 - i) / hosts
	}
	for rank, host := 0, 0; rank < ranks; host = (host + 1) % hosts {
		n := min(p.plane, left[host])
		left[host] -= n
		for range n {
			fmt.Fprintf(&b, "rank %d=+n%d\n", rank, host)
			rank++
		}
	}
	p.c.rankMap, p.c.rankMapName = b.String(), fmt.Sprintf("plane=%d", p.plane)
	p.plane = 0
	return append(flags, "--map-by", placement.File+p.c.rankMapName)
}

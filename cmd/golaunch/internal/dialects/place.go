package dialects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/placement"
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
		return nil, AnswerWithin
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
				return nil, AnswerWithin
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
	case strings.HasPrefix(v[0], placement.Plane): // golaunch's, right or wrong
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

// distribution is srun's -m.
func distribution(p *pasted, v []string) (same []string, answer string) {
	same, p.Pack, answer = Distribution(v[0])
	word, _, _ := strings.Cut(v[0], ",")
	if _, within, parts := strings.Cut(word, ":"); parts && within != "*" && within != "*:*" {
		p.note("-m %s: --bind-to says on which sockets and cores of their host ranks run", v[0])
	}
	return same, answer
}

// Distribution is the value of srun's -m and of its variable, and that of mpirun_rsh of
// MVAPICH2's network-aware job launcher, pt2pt: by the communication graph of --metis-file.
// Its further words are of sockets and cores, which --bind-to chooses here. Same are flags
// with values; pack says that hosts are to be filled one after the other.
func Distribution(value string) (same []string, pack bool, answer string) {
	word, packing, _ := strings.Cut(strings.ToLower(value), ",")
	pack = packing == "pack"
	first, within, parts := strings.Cut(word, ":")
	for part := range strings.SplitSeq(within, ":") {
		if parts && !slices.Contains([]string{"block", "cyclic", "fcyclic", "*"}, part) {
			return nil, pack, AnswerWithin
		}
	}
	if size, ok := strings.CutPrefix(first, "plane="); ok {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return nil, pack, "a plane has a number of ranks, as in plane=2"
		}
		return []string{"--map-by", placement.Slot, "--rank-by", fmt.Sprint(placement.Plane, n)}, pack, ""
	}
	switch first {
	case "block", "*":
		return []string{"--map-by", placement.Slot}, pack, ""
	case "cyclic":
		return []string{"--map-by", placement.Node}, pack, ""
	case "arbitrary":
		return []string{"--map-by", placement.Seq}, pack, ""
	case "pt2pt":
		return []string{"--map-by", placement.Topology}, pack, ""
	}
	return nil, pack, AnswerWithin
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/internal/hostlist"
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

// distribution is srun's value, and that of mpirun_rsh of MVAPICH2's network-aware
// job launcher, pt2pt: by the communication graph of --metis-file. Its further words are of
// sockets and cores, which --bind-to chooses here.
func distribution(p *pasted, v []string) ([]string, string) {
	word, pack, _ := strings.Cut(strings.ToLower(v[0]), ",")
	if p.c.pack = ""; pack == "pack" {
		p.c.pack = "-m"
	}
	first, within, parts := strings.Cut(word, ":")
	for part := range strings.SplitSeq(within, ":") {
		switch part {
		case "block", "cyclic", "fcyclic", "*":
		default:
			if parts {
				return nil, answerWithin
			}
		}
	}
	if parts && within != "*" && within != "*:*" {
		p.note("-m %s: --bind-to says on which sockets and cores of their host ranks run", v[0])
	}
	if size, ok := strings.CutPrefix(first, "plane="); ok {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return nil, "a plane has a number of ranks, as in plane=2"
		}
		return []string{"--map-by", placement.Slot, "--rank-by", fmt.Sprint(placement.Plane, n)}, ""
	}
	switch first {
	case "block", "*":
		return []string{"--map-by", placement.Slot}, ""
	case "cyclic":
		return []string{"--map-by", placement.Node}, ""
	case "arbitrary":
		return []string{"--map-by", placement.Seq}, ""
	case "pt2pt":
		return []string{"--map-by", placement.Topology}, ""
	}
	return nil, answerWithin
}

// slurmDistribution places ranks as a job of Slurm was asked to, by salloc or sbatch -m or
// by the user's environment, where the line says nothing of it. What it cannot have is told
// on w. In a step the variables are those of srun, which has placed golaunch itself.
func (c *commandLine) slurmDistribution(w io.Writer) error {
	const name = "SLURM_DISTRIBUTION"
	value := strings.ToLower(variable(c.environ, name))
	file := variable(c.environ, "SLURM_HOSTFILE")
	step := variable(c.environ, "SLURM_STEP_ID")
	inStep := step != "" && step != hostlist.InteractiveStep
	if !c.inSlurm() || inStep || c.here() || c.rankBy != "" || c.metisFile != "" || c.topology != "" && c.topology != topologyNone {
		return nil
	}
	said, listed := c.mapBy != "", len(c.hosts) > 0 || c.hostfile != ""
	if said && c.mapBy != placement.Seq && !(c.isLineOf(&srunTool) && file != "") {
		return nil
	}
	if !said && !listed && value != "" && !strings.HasPrefix(value, "arbitrary") {
		if value == "plane" {
			value = "plane=" + variable(c.environ, "SLURM_DIST_PLANESIZE")
		}
		p := &pasted{c: c}
		flags, answer := distribution(p, []string{value})
		if c.pack != "" {
			c.pack = name
		}
		if answer != "" || slices.Contains(flags, placement.Topology) {
			c.tell(w, 0, "%s: %s: %s", name, value, cmp.Or(answer, answerWithin))
			flags = nil
		}
		for i := 0; i+1 < len(flags); i += 2 {
			if err := c.flags.Set(strings.TrimPrefix(flags[i], "--"), flags[i+1]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		c.tell(w, 1, "%s=%s: ranks are placed so", name, value)
	}
	// Slurm takes the hosts of the ranks from this file wherever it is named.
	arbitrary := c.mapBy == placement.Seq || !said && strings.HasPrefix(value, "arbitrary")
	switch {
	case listed || c.rankMap != "" || c.Placement.PPN > 0 && !arbitrary:
		return nil
	case file != "" && (arbitrary || c.isLineOf(&srunTool)):
		if _, err := os.Stat(file); err != nil { // the user may not know of it
			return fmt.Errorf("SLURM_HOSTFILE: %s: %w", file, files.Reason(err))
		}
		c.hostfile, c.mapBy, c.rankBy = file, placement.Seq, ""
	case arbitrary && said:
		return errors.New("-m arbitrary: name the host of each rank, in order, with -w or -F, or in the file that SLURM_HOSTFILE names")
	case arbitrary:
		c.tell(w, 0, "%s=arbitrary: the host of each rank is in no file that SLURM_HOSTFILE names: ranks are placed by --map-by slot", name)
	}
	return nil
}

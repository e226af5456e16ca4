package servepmix

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/pmi"
)

// Bounds of a spawn.
const (
	maxSpawn = 4 << 20 // bytes of its texts
	maxProcs = 1 << 24
)

// asSpawn is a request for a new world as PMI has it.
func asSpawn(b pmix.Spawn) (*pmi.Spawn, error) {
	if len(b.Apps) == 0 {
		return nil, errors.New("no command")
	}
	s := new(pmi.Spawn)
	size := 0
	for _, a := range b.Apps {
		c := pmi.Command{Exec: a.Command, Procs: int(a.Procs), Env: spawnEnv(a.Env)}
		if len(a.Argv) > 1 {
			c.Args = a.Argv[1:]
		}
		if c.Exec == "" && len(a.Argv) > 0 {
			c.Exec = a.Argv[0]
		}
		size += len(c.Exec) + textSize(b.Infos) + textSize(a.Infos) // each has hints of its own of those of all
		for _, t := range slices.Concat(c.Args, c.Env) {
			size += len(t) + 1
		}
		switch {
		case c.Exec == "":
			return nil, errors.New("a command without a program")
		case a.Procs < 1 || a.Procs > maxProcs:
			return nil, fmt.Errorf("%d processes", a.Procs)
		case size > maxSpawn:
			return nil, fmt.Errorf("more than %d bytes of commands", maxSpawn)
		}
		c.Hints = spawnHints(slices.Concat(b.Infos, a.Infos))
		if c.Hints.Dir == "" {
			c.Hints.Dir = a.Dir
		}
		s.Commands = append(s.Commands, c)
	}
	return s, nil
}

func textSize(infos []pmix.Pair) (n int) {
	for _, p := range infos {
		n += len(p.Key) + len(p.Value)
	}
	return n
}

// spawnHints are the hints that are understood (PMIx standard 4.1, section 11.2).
func spawnHints(infos []pmix.Pair) (h pmi.Hints) {
	for _, p := range infos {
		switch p.Key {
		case "pmix.host", "pmix.addhost":
			for host := range strings.SplitSeq(p.Value, ",") {
				if host = strings.TrimSpace(host); host != "" {
					h.Hosts = append(h.Hosts, host)
				}
			}
		case "pmix.hostfile", "pmix.addhostfile":
			h.HostFile = p.Value
		case "pmix.wdir":
			h.Dir = p.Value
		case "pmix.prefix":
			h.Path = p.Value + "/bin"
		}
	}
	return h
}

// spawnEnv is what a command is to find in its environment: Open MPI 4 hands over all of
// its own, which says whose rank it is.
func spawnEnv(env []string) (kept []string) {
	for _, e := range env {
		name, _, ok := strings.Cut(e, "=")
		own := slices.Contains(ownNames, name) || slices.Contains(SharedDirs, name) || slices.ContainsFunc(ownPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) && !strings.HasPrefix(name, "PMIX_MCA_")
		if ok && name != "" && !own {
			kept = append(kept, e)
		}
	}
	return kept
}

// SharedDirs are Open MPI's variables for where the ranks of a node share files: a directory
// of their world, which golaunch sets for each.
var SharedDirs = []string{
	"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory",
	"OMPI_MCA_osc_sm_backing_directory", "OMPI_MCA_osc_rdma_backing_directory",
}

// What golaunch and helpers tell each rank of itself, beside SharedDirs.
var (
	ownPrefixes = []string{"PMI_", "PMIX_", "GOLAUNCH_", "MPI_LOCAL"}
	ownNames    = []string{"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "OMPI_MCA_orte_ess_num_procs"}
)

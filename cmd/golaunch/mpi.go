package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

// mpiType is a value of --mpi.
type mpiType struct {
	name, serves string
	set          func(*commandLine)
}

// mpiTypes are the values of --mpi; srun's others mean one of them (mpiOf).
var mpiTypes = []mpiType{
	{"auto", "what each rank's MPI library asks for", func(*commandLine) {}},
	{"mpich", "MPICH and its descendants: PMI, and the cure of their hang in MPI_Finalize everywhere", func(c *commandLine) { c.MPI.MPICHFix = true }},
	{"openmpi", "Open MPI 3 and 4 by variables alone, as Flux does, without MPI_Comm_spawn", func(c *commandLine) { c.Launch.OpenMPI = true }},
	{"pmix", "PMIx by variables alone: what links libpmix, Open MPI in containers that ranks start", func(c *commandLine) { c.Launch.PMIx = true }},
	{"none", "PMI for what asks for it; nothing is looked at, nothing preloaded", func(c *commandLine) { c.Launch.NoMPI, c.MPI.NoMPICHFix = true, true }},
}

// srunMPIs begin srun's own values of --mpi.
var srunMPIs = []string{"pmi1", "pmi2", "pmix_v", "cray_", "lam", "mvapich", "mpich1_", "mpichgm", "mpichmx"}

// isSrunMPI tells whether the value of --mpi is srun's alone.
func isSrunMPI(w word, next []string) bool {
	value := w.value
	if !w.attached {
		value = next[0]
	}
	return value != "list" && !slices.Contains(mpiNames(), value) && slices.ContainsFunc(srunMPIs, func(s string) bool { return strings.HasPrefix(value, s) })
}

// mpiOf is srun's word for what MPI libraries speak, or golaunch's.
func mpiOf(_ *pasted, v []string) ([]string, string) {
	value := v[0]
	switch w := newWord("--mpi=" + value); {
	case !isSrunMPI(w, nil): // golaunch's
	case strings.HasPrefix(value, "pmix"):
		value = "pmix"
	default:
		value = "auto"
	}
	return []string{"--mpi", value}, ""
}

// mpiValue is the value of --mpi.
func mpiValue(c *commandLine) pflag.Value {
	return flags.Word(&c.mpi, func(word string) (string, error) {
		if word == "list" {
			c.listMPI = true
			return c.mpi, nil
		}
		for _, t := range mpiTypes {
			if t.name == word {
				c.Launch.OpenMPI, c.Launch.PMIx, c.MPI.MPICHFix, c.MPI.NoMPICHFix, c.Launch.NoMPI = false, false, false, false, false
				t.set(c)
				return word, nil
			}
		}
		return "", fmt.Errorf("%q is none; %s are", word, strings.Join(mpiNames(), ", "))
	})
}

func mpiNames() (names []string) {
	for _, t := range mpiTypes {
		names = append(names, t.name)
	}
	return names
}

// mpiList is the text of --mpi=list.
func mpiList() string {
	var b strings.Builder
	b.WriteString("golaunch serves, with --mpi\n")
	for _, t := range mpiTypes {
		fmt.Fprintf(&b, "  %-8s %s\n", t.name, t.serves)
	}
	return b.String()
}

// defineMPI adds --mpi, and the flags that it has replaced, of which no help tells.
func (c *commandLine) defineMPI(f *pflag.FlagSet) {
	c.mpi = mpiTypes[0].name
	f.Var(mpiValue(c), "mpi", "serve `MPI`: "+flags.Either(mpiNames()))
	flags.Group(f, groupJob, "mpi")
	flags.Choices(f, "mpi", mpiNames()...)
	flags.Tell(f, "mpi", func(t mpiType) string { return t.serves }, mpiTypes)

	f.BoolVar(&c.Launch.OpenMPI, "open-mpi", false, "--mpi openmpi")
	f.BoolVar(&c.Launch.PMIx, "pmix", false, "--mpi pmix")
	f.BoolVar(&c.MPI.MPICHFix, "mpich-fix", false, "--mpi mpich")
	f.BoolVar(&c.MPI.NoMPICHFix, "no-mpich-fix", false, "--mpi none, of MPICH alone")
	f.BoolVar(&c.Launch.PMIPort, "pmi-port", false, "ranks connect to PMI_PORT, of their own host only, instead of PMI_FD")
	for _, name := range []string{"open-mpi", "pmix", "mpich-fix", "no-mpich-fix", "pmi-port"} {
		flags.Group(f, groupJob, name)
		f.Lookup(name).Hidden = true
	}
}

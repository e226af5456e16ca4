package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/launcher"
)

// mpiType is a value of --mpi.
type mpiType struct {
	name, serves string
	set          func(*launcher.Options)
}

// mpiTypes are the values of --mpi; srun's others mean one of them (mpiOf).
var mpiTypes = []mpiType{
	{"auto", "what each rank's MPI library asks for", func(*launcher.Options) {}},
	{"mpich", "MPICH and its descendants: PMI, and the cure of their hang in MPI_Finalize everywhere", func(o *launcher.Options) { o.MPI.MPICHFix = true }},
	{"openmpi", "Open MPI 3 and 4 by variables alone, as Flux does, without MPI_Comm_spawn", func(o *launcher.Options) { o.Launch.OpenMPI = true }},
	{"pmix", "PMIx by variables alone: what links libpmix, Open MPI in containers that ranks start", func(o *launcher.Options) { o.Launch.PMIx = true }},
	{"none", "PMI for what asks for it; nothing is looked at, nothing preloaded", func(o *launcher.Options) { o.Launch.NoMPI, o.MPI.NoMPICHFix = true, true }},
}

func mpiNames() (names []string) {
	for _, t := range mpiTypes {
		names = append(names, t.name)
	}
	return names
}

// MPIList returns the text of --mpi=list.
func MPIList() string {
	var b strings.Builder
	b.WriteString("golaunch serves, with --mpi\n")
	for _, t := range mpiTypes {
		fmt.Fprintf(&b, "  %-8s %s\n", t.name, t.serves)
	}
	return b.String()
}

// mpiListWord is the value of --mpi that asks for the others.
const mpiListWord = "list"

// defineMPI adds --mpi, and the flags that it has replaced, of which no help tells.
func (v *values) defineMPI(t *flags.Table) {
	t.Value(flags.Word(&v.mpi, func(word string) (string, error) {
		if word != mpiListWord && !slices.Contains(mpiNames(), word) {
			return "", fmt.Errorf("%q is none; %s are", word, strings.Join(mpiNames(), ", "))
		}
		return word, nil
	}), "mpi", "", "serve `MPI`: "+flags.Either(mpiNames()), flags.Told(mpiServes, mpiNames()))
	t.Yes(&v.Launch.OpenMPI, "open-mpi", "", "--mpi openmpi", flags.Hidden)
	t.Yes(&v.Launch.PMIx, "pmix", "", "--mpi pmix", flags.Hidden)
	t.Yes(&v.MPI.MPICHFix, "mpich-fix", "", "--mpi mpich", flags.Hidden)
	t.Yes(&v.MPI.NoMPICHFix, "no-mpich-fix", "", "--mpi none, of MPICH alone", flags.Hidden)
	t.Yes(&v.Launch.PMIPort, "pmi-port", "", "ranks connect to PMI_PORT, of their own host only, instead of PMI_FD", flags.Hidden)
}

// mpiServes explains a value of --mpi.
func mpiServes(name string) string { return findMPI(name).serves }

func findMPI(name string) mpiType {
	return mpiTypes[slices.IndexFunc(mpiTypes, func(t mpiType) bool { return t.name == name })]
}

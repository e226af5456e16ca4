package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/golaunch/golaunch/integration/programs"
)

// kind is a sort of programs: a row of the page's table of jobs.
type kind struct {
	name string
	// needs is a program without which there is none of them, made the command that makes
	// it.
	needs, made string
	weight      int  // the chance to be drawn, against the others'
	large       bool // ranks take long to start, and much memory: few of them
	counts      bool // --profile counts their messages
	alone       bool // they need nothing beside themselves, and so may be staged
	helped      bool // a PMIx helper serves them
	programs    func(d deck) []program
}

// program is the program of a job's ranks, and its undisturbed outcome.
type program struct {
	argv     []string
	flags    []string // that it needs
	policy   string   // the only one, and the default, that will do; "" for any
	code     int
	inherits bool // it knows no other way to PMI
	endless  bool // it prints a line per rank, and is ended by SIGTERM
	least    int  // ranks that it needs, where these are more than one
}

// deck has the programs to draw from: their directory, and a rank that may be special.
type deck struct {
	native string
	one    string // a rank of the job's
}

// at returns a command line of one of native/.
func (d deck) at(name string, words ...string) []string {
	return append([]string{filepath.Join(d.native, name)}, words...)
}

// gcc makes what kinds need where there is no more to it.
const gcc = "make native"

// jobKinds are all that there are.
var jobKinds = []kind{
	{name: "no MPI", needs: "rankprobe", made: gcc, weight: 4, alone: true, programs: func(d deck) []program {
		return []program{
			{argv: d.at("rankprobe", "sleep"), endless: true},
			{argv: d.at("rankprobe", "stubborn"), endless: true},
			{argv: d.at("rankprobe", "flood", "0"), endless: true},
			{argv: []string{"hostname"}},
			{argv: d.at("rankprobe", "lines", "2000", d.one, "3000")},
			{argv: d.at("rankprobe", "leave")},
			{argv: d.at("rankprobe", "-r", d.one, "exit", "7"), code: 7},
			{argv: d.at("rankprobe", "-r", d.one, "signal", "11"), code: 128 + 11},
			{argv: []string{"/no/such/program"}, code: 127},
		}
	}},
	{name: "PMI", needs: "pmi2client", made: "apt-get install libpmi2-0-dev, make native",
		weight: 2, alone: true, programs: func(d deck) []program {
			return []program{
				{argv: d.at("pmiclient", "-q", "-n", "50")},
				{argv: d.at("pmiclient", "-q", "-m", "all", "-p", "3", "-l", "600")},
				{argv: d.at("pmiclient", "-x", "abort:5", "-r", d.one), code: 5},
				{argv: d.at("pmiclient", "-x", "nofinalize", "-r", d.one), code: 1},
				{argv: d.at("pmi2client", "-n", "5"), inherits: true},
				{argv: d.at("spawnclient", "-w", "2", "--", filepath.Join(d.native, "spawnclient"), "child")},
			}
		}},
	{name: "PMGR", needs: "pmgrclient", made: gcc, weight: 1, programs: func(d deck) []program {
		return []program{{argv: d.at("pmgrclient", "-n", "20"), flags: []string{"--pmgr"}}}
	}},
	{name: "client library", needs: "treestay", made: gcc, weight: 3, programs: func(d deck) []program {
		const board = "hcmab" // keys on every node
		return []program{
			{argv: d.at("treestay"), policy: board, endless: true},
			{argv: d.at("treetour", "2000"), policy: board},
			{argv: d.at("treesplit", "3"), policy: board},
			{argv: d.at("tour", "2000"), policy: board},
			{argv: d.at("workqueue", "-tasks", "300"), policy: board, least: 2},
			{argv: d.at("withc"), policy: board},
			{argv: d.at("switches"), policy: board},
		}
	}},
	{name: "MPICH", needs: "mpidie", made: "apt-get install libmpich-dev mpich, make native",
		weight: 2, large: true, counts: true, programs: mpi("")},
	{name: "Open MPI 4", needs: "mpidie.openmpi", made: "apt-get install libopenmpi-dev, make native",
		weight: 2, large: true, counts: true, programs: mpi(".openmpi")},
	{name: "PMIx, Open MPI 4", needs: "mpidie.openmpi", made: "apt-get install libopenmpi-dev, make native",
		weight: 2, large: true, helped: true, programs: mpi(".openmpi", "--pmix")},
	{name: "PMIx, Open MPI 5", needs: "mpidie.openmpi5", made: "scripts/openmpi5.sh, make native",
		weight: 3, large: true, helped: true,
		// It lies elsewhere than where it was installed.
		programs: mpi(".openmpi5", "-x", "OPAL_PREFIX="+filepath.Join(programs.OpenMPI5(), "usr"))},
	{name: "PMIx, no MPI", needs: "pmixclient", made: "apt-get install libpmix-dev, make native",
		weight: 1, helped: true, programs: func(d deck) []program {
			return []program{{argv: d.at("pmixclient", "-n", "3", "-m", "all")}, {argv: d.at("pmixclient", "-n", "2", "-d", "-l", "5000")}}
		}},
}

// mpi returns the programs of an MPI, whose names end alike, with the flags that it
// needs.
func mpi(end string, flags ...string) func(deck) []program {
	return func(d deck) []program {
		list := []program{
			{argv: d.at("mpidie"+end, "0", "never"), endless: true},
			{argv: d.at("mpisum"+end, "-a")},
			{argv: d.at("mpihello" + end)},
			{argv: d.at("mpidie"+end, d.one, "exit"), code: 3},
			{argv: d.at("mpidie"+end, d.one, "kill"), code: 128 + 9},
			{argv: d.at("mpiabort"+end, d.one, "5"), code: 5},
		}
		for i := range list {
			list[i].flags = flags
		}
		return list
	}
}

// ways are flags that have a row in the page's table of jobs.
var ways = []string{"--restarts", "--spares", "--stage", "--profile", "--pty"}

// kindsOf returns the rows of a job in that table.
func (d drawn) kindsOf() []string {
	rows := []string{d.kind}
	for _, w := range ways {
		if d.has(w) {
			rows = append(rows, w)
		}
	}
	return rows
}

// has reports whether golaunch has a flag: words after -n N are the program's.
func (d drawn) has(flag string) bool {
	return slices.Contains(d.argv[:max(0, slices.Index(d.argv, "-n"))], flag)
}

// survey finds out which kinds and blows this machine has: there reports whether it has
// a program of native/, memory is the reason that a node's cannot be bounded.
func (p *place) survey(there func(program string) bool, memory error) error {
	for i := range jobKinds {
		k := &jobKinds[i]
		if !there(k.needs) {
			p.lacks = append(p.lacks, fmt.Sprintf("jobs of kind %q, as there is no %s (%s)", k.name, k.needs, k.made))
			continue
		}
		for range k.weight {
			p.kinds = append(p.kinds, k)
		}
	}
	for i := range faults {
		f := &faults[i]
		if f.memory && memory != nil {
			p.lacks = append(p.lacks, fmt.Sprintf("blow %q: %v", f.name, memory))
			continue
		}
		p.faults = append(p.faults, f)
	}
	if len(p.kinds) == 0 {
		return fmt.Errorf("no programs in %s; make native", p.native)
	}
	return nil
}

// only draws from those kinds and blows alone whose names match regular expressions.
func (p *place) only(jobs, blows string) error {
	of, err1 := regexp.Compile(jobs)
	by, err2 := regexp.Compile(blows)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	p.kinds = slices.DeleteFunc(p.kinds, func(k *kind) bool { return !of.MatchString(k.name) })
	p.faults = slices.DeleteFunc(p.faults, func(f *fault) bool { return !by.MatchString(f.name) })
	if len(p.kinds) == 0 {
		return fmt.Errorf("-kinds %s: there is none such here", jobs)
	}
	return nil
}

// built reports whether there is a program.
func (p *place) built(program string) bool {
	_, err := os.Stat(filepath.Join(p.native, program))
	return err == nil
}

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// row counts the outcomes of the jobs that one blow struck.
type row struct {
	jobs     int
	codes    map[int]int
	found    map[string]int // by kind
	segments int
}

// tally counts all jobs.
type tally struct {
	jobs, raced int
	blows       map[string]*row // by the name of the blow
	sorts       map[string]*row // by kind, or flag
	all         row
	kills       int      // of the kernel's, for want of memory
	lacks       []string // things that this machine cannot have
	bad         []outcome
}

func newTally() *tally {
	return &tally{blows: make(map[string]*row), sorts: make(map[string]*row), all: *newRow()}
}

func newRow() *row { return &row{codes: make(map[int]int), found: make(map[string]int)} }

func (r *row) add(o outcome) {
	r.jobs++
	r.codes[o.code]++
	for _, f := range o.faults {
		r.found[f.kind]++
	}
	r.segments += o.segments
}

// add counts a job in the row of each blow that fell, and of its kind.
func (t *tally) add(o outcome) {
	t.jobs++
	if o.race {
		t.raced++
	}
	if len(o.faults) > 0 {
		t.bad = append(t.bad, o)
	}
	t.all.add(o)
	names := map[string]bool{}
	for _, b := range o.struck {
		names[b.name] = true
	}
	if len(names) == 0 {
		names["nothing"] = true
	}
	for name := range names {
		addTo(t.blows, name, o)
	}
	for _, name := range o.kindsOf() {
		addTo(t.sorts, name, o)
	}
}

func addTo(rows map[string]*row, name string, o outcome) {
	if rows[name] == nil {
		rows[name] = newRow()
	}
	rows[name].add(o)
}

// err returns an error if golaunch did something wrong. Late remains are told, and no
// fault.
func (t *tally) err() error {
	wrong := 0
	for _, o := range t.bad {
		if slices.ContainsFunc(o.faults, func(f finding) bool { return f.kind != "late" }) {
			wrong++
		}
	}
	if wrong == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d jobs show a fault", wrong, t.jobs)
}

const preamble = `%s, golaunch %s, seed %d. %d random jobs on %d nodes (namespaces with an sshd each, on one machine),
%d of them with golaunch built with -race: random hosts, ranks, programs, cache
policies, degrees and flags, and none to two of the blows below, each at a random
time. A job hangs if golaunch has not ended %v after all that it waits for by its
own word; left is what was not on a machine before, be it a process, a file, a mount or a
cgroup, %v after golaunch's end (and --lost-after where something fell silent): late if
it was gone within %v more, for want of processors, else a leftover; a
culprit is unnamed if golaunch fails for a host and does not say so, or blames another
one first; a file of --profile is wrong if it is neither whole nor the one that was there before; a terminal
that is not as it was is left, too. Segments are files of MPICH and UCX in /dev/shm that were removed, and are
no leftovers: ranks unlink them in MPI_Init, if they are not killed before or find no room, and nobody else
knows whose they are. Of struck jobs whose ranks all ended by themselves none are removed. Of a job with --restarts all of whose ranks ran, and that loses one rank or node, no
status is right but its own. The kernel killed %d processes for want of memory. -seed N -job K draws a job again.
%s
## What happened

`

// page renders docs/results/chaos.md.
func (t *tally) page(s settings) string {
	var b strings.Builder
	var lacks strings.Builder
	for _, l := range t.lacks {
		fmt.Fprintf(&lacks, "\nLeft out: %s.\n", l)
	}
	b.WriteString(s.Head("Chaos", "build", "native"))
	fmt.Fprintf(&b, preamble, results.Today(), s.revision, s.seed, t.jobs, s.nodes, t.raced,
		s.limits.hang, s.limits.left, patience, t.kills, &lacks)
	names := []string{"nothing"}
	for _, f := range faults {
		names = append(names, f.name)
	}
	writeTable(&b, "what happened", names, t.blows, &t.all)
	names = nil
	for _, k := range jobKinds {
		names = append(names, k.name)
	}
	b.WriteString("\n## What the jobs were\n\n")
	writeTable(&b, "kind, or flag", append(names, ways...), t.sorts, &t.all)
	for i := range t.bad {
		fmt.Fprintf(&b, "\n```\n%v```\n", &t.bad[i])
	}
	return b.String()
}

// writeTable writes those rows that there are, in an order, and their sum.
func writeTable(b *strings.Builder, heading string, names []string, rows map[string]*row, all *row) {
	fmt.Fprintf(b, "| %s | jobs | exit statuses | %s | segments |\n|---|---|---|%s---|\n", heading, strings.Join(kinds, " | "), strings.Repeat("---|", len(kinds)))
	for _, name := range names {
		if r := rows[name]; r != nil {
			r.write(b, name)
		}
	}
	all.write(b, "all")
}

func (r *row) write(b *strings.Builder, name string) {
	var codes []string
	for _, code := range slices.Sorted(maps.Keys(r.codes)) {
		codes = append(codes, fmt.Sprintf("%d: %d", code, r.codes[code]))
	}
	fmt.Fprintf(b, "| %s | %d | %s |", name, r.jobs, strings.Join(codes, ", "))
	for _, k := range kinds {
		fmt.Fprintf(b, " %d |", r.found[k])
	}
	fmt.Fprintf(b, " %d |\n", r.segments)
}

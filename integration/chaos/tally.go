package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// row counts what came of the jobs to which one thing happened.
type row struct {
	jobs  int
	codes map[int]int
	found map[string]int // by kind
}

// tally counts all jobs.
type tally struct {
	jobs, raced int
	rows        map[string]*row
	all         row
	bad         []outcome
}

func newTally() *tally {
	return &tally{rows: make(map[string]*row), all: newRow()}
}

func newRow() row { return row{codes: make(map[int]int), found: make(map[string]int)} }

func (r *row) add(o outcome) {
	r.jobs++
	r.codes[o.code]++
	for _, f := range o.faults {
		r.found[f.kind]++
	}
}

// add counts a job in the row of each blow that fell.
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
		if t.rows[name] == nil {
			r := newRow()
			t.rows[name] = &r
		}
		t.rows[name].add(o)
	}
}

// err says that golaunch did something wrong, if it did. What was late only is
// told, and no fault.
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

const preamble = `# Chaos

	make build native bin/chaos && bin/chaos %s

%s, golaunch %s, seed %d. %d random jobs on %d nodes (namespaces with an sshd each, on one machine),
%d of them with golaunch built with -race: random hosts, ranks, programs, cache
policies, degrees and flags, and none to two of the blows below, each at a random
time. A job hangs if golaunch has not ended %v after all that it waits for by its
own word; left is what was not on a machine before, be it a process, a file, a mount or a
cgroup, %v after golaunch's end (and --lost-after where something fell silent): late if
it was gone within %v more, for want of processors, else a leftover; a
culprit is unnamed if golaunch fails for a host and does not say so, or blames another
one first. -seed N -job K draws a job again.

| what happened | jobs | exit statuses | %s |
|---|---|---|%s
`

// page is docs/results/chaos.md.
func (t *tally) page(s settings, args string) string {
	var b strings.Builder
	fmt.Fprintf(&b, preamble, args, time.Now().UTC().Format("2006-01-02"), s.revision, s.seed, t.jobs, s.nodes, t.raced,
		s.limits.hang, s.limits.left, patience, strings.Join(kinds, " | "), strings.Repeat("---|", len(kinds)))
	names := []string{"nothing"}
	for _, f := range faults {
		names = append(names, f.name)
	}
	for _, name := range names {
		if r := t.rows[name]; r != nil {
			r.write(&b, name)
		}
	}
	t.all.write(&b, "all")
	for i := range t.bad {
		fmt.Fprintf(&b, "\n```\n%v```\n", &t.bad[i])
	}
	return b.String()
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
	fmt.Fprintln(b)
}

package mpichsuite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// page renders the results.
func page(f results.Frame, tried []trial) string {
	b := &strings.Builder{}
	b.WriteString(f.Head("MPICH's spawn programs", "build"))
	fmt.Fprintf(b, `%s. MPICH 4.0.2 from Debian's source package, built with ch3:nemesis
(`+"`scripts/mpich.sh`"+`). Agents are golaunch's on one machine; nodes are namespaces with an
sshd each, on the same machine. A program passes if it prints " No Errors" and nothing
else, and the job's exit status is 0, in time. Times are wall clock, on two cores that
others used, too.

`, results.Today())
	b.WriteString("MPICH's list, `test/mpi/spawn/testlist`: a program and its number of ranks.\n\n")
	table(b, tried, false)
	b.WriteString(`
Programs of ours (` + "`native/programs/mpispawn.c`" + `). Spawns that are refused: every parent gets an
error and goes on, with MPI_ERRORS_RETURN. Worlds that part: both disconnect, one
finalizes and exits with code 3; the other then spawns once more, and the job's exit
status is 3. What golaunch does there is told in [Spawn](../pmi.md#spawn).

`)
	table(b, tried, true)
	return b.String()
}

// table writes a line for each test and, in the end, the counts; a way that is for none
// of the tests has no column.
func table(b *strings.Builder, tried []trial, ours bool) {
	var tests, ways []string
	cells := map[[2]string]string{}
	passed, ran := map[string]int{}, map[string]int{}
	for _, r := range tried {
		if r.test.ours != ours {
			continue
		}
		if !slices.Contains(tests, r.test.name) {
			tests = append(tests, r.test.name)
		}
		if !slices.Contains(ways, r.way.name) {
			ways = append(ways, r.way.name)
		}
		word := "**failed**"
		ran[r.way.name]++
		if r.fault == "" {
			passed[r.way.name]++
			word = "passed"
		}
		cells[[2]string{r.test.name, r.way.name}] = fmt.Sprintf("%s, %.1f s", word, r.took.Seconds())
	}
	fmt.Fprintf(b, "| program | %s |\n|---%s|\n", strings.Join(ways, " | "), strings.Repeat("|---", len(ways)))
	for _, t := range tests {
		fmt.Fprintf(b, "| %s |", t)
		for _, w := range ways {
			fmt.Fprintf(b, " %s |", cmp.Or(cells[[2]string{t, w}], "–"))
		}
		b.WriteString("\n")
	}
	b.WriteString("| passed |")
	for _, w := range ways {
		fmt.Fprintf(b, " **%d of %d** |", passed[w], ran[w])
	}
	b.WriteString("\n")
}

package pmix

import (
	"fmt"
	"math"
	"os/exec"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// place identifies a figure.
type place struct {
	size
	job       string
	contender string
}

// entry has a contender's results.
type entry struct {
	runs   [][]float64 // milliseconds: a run's rounds
	reason error       // the reason that it failed, and is not run again
}

// book has all figures.
type book map[place]*entry

func (b book) at(p place) *entry {
	if b[p] == nil {
		b[p] = &entry{}
	}
	return b[p]
}

func (b book) add(p place, times []float64) { e := b.at(p); e.runs = append(e.runs, times) }
func (b book) fail(p place, reason error)   { b.at(p).reason = reason }
func (b book) failed(p place) bool          { return b.at(p).reason != nil }

// middle returns the median of all rounds, or NaN if there is none.
func (e entry) middle() float64 {
	var all []float64
	for _, r := range e.runs {
		all = append(all, r...)
	}
	if len(all) == 0 || e.reason != nil {
		return math.NaN()
	}
	return results.Median(all)
}

// ratio returns the median over the runs of a's median by b's, or NaN.
func ratio(a, b *entry) float64 {
	n := min(len(a.runs), len(b.runs))
	if n == 0 || a.reason != nil || b.reason != nil {
		return math.NaN()
	}
	var values []float64
	for i := range n {
		values = append(values, results.Median(a.runs[i])/results.Median(b.runs[i]))
	}
	return results.Median(values)
}

func number(x float64, format string) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, x)
}

// page renders the whole page.
func page(s settings, b book) string {
	var out strings.Builder
	out.WriteString(s.Head("PMIx, measured", "setup-bench", "build", "native"))
	fmt.Fprintf(&out, `%s. %s. %s; Open MPI 5.0.7 and its PMIx of Debian 13, beside it
(scripts/openmpi5.sh). Nodes are namespaces with an sshd each, on this machine, whose
processor bounds everything here. golaunch and both mpirun start their daemons over ssh;
srun's run before. golaunch serves both libraries over PMIx (4.1.4 with --pmix), each
with a helper of its node that has the ranks' own libpmix. Figures are milliseconds,
medians of %d alternating runs; a ratio is the median over the runs.
`, results.Today(), results.Machine(), mpirun(), s.Runs)
	fmt.Fprint(&out, `
## Start-up to the end of MPI_Init

From the launcher's start until the last rank (native/programs/mpihello.c) has left MPI_Init, whose
connections Open MPI makes later, as ranks send.

`)
	rows := func(head string, sizes []size, jobs []job) {
		header(&out, head)
		for _, at := range sizes {
			for _, j := range jobs {
				label := at.String()
				if len(jobs) > 1 {
					label = j.name
				}
				row(&out, b, label, at, j)
			}
		}
		reasons(&out, b, sizes, jobs)
	}
	rows("nodes × ranks", s.sizes, startups)
	fmt.Fprintf(&out, `
## Fence and direct modex, %v

Every rank puts one value of 32 bytes and enters the fence; then it gets that of the rank
half the world away (native/programs/pmixclient.c, which is linked with libpmix 4.2.2 or 5.0.7).
A fence that collects brings all values to all nodes, and its figure is without the get;
after one that does not, the value is fetched from its node, and the figure is that of
all three steps. From the first rank's begin to the last rank's end; %d rounds in a run.

`, s.fences, s.rounds)
	rows("what", []size{s.fences}, exchanges)
	return out.String()
}

func header(out *strings.Builder, head string) {
	fmt.Fprintf(out, "| %s |", head)
	for _, c := range contenders {
		fmt.Fprintf(out, " %s |", c.name)
	}
	fmt.Fprintf(out, " mpirun / golaunch 4.1.4 | srun / golaunch 4.1.4 | mpirun / golaunch 5.0.7 | srun / golaunch 5.0.7 |\n|%s\n", strings.Repeat("---|", len(contenders)+5))
}

// row writes a line of a table; each library has golaunch, mpirun and srun, in that
// order.
func row(out *strings.Builder, b book, label string, at size, j job) {
	var entries []*entry
	fmt.Fprintf(out, "| %s |", label)
	for _, c := range contenders {
		e := b.at(place{at, j.name, c.name})
		entries = append(entries, e)
		fmt.Fprintf(out, " %s |", number(e.middle(), "%.0f"))
	}
	for i := 0; i < len(entries); i += 3 {
		for _, rival := range entries[i+1 : i+3] {
			fmt.Fprintf(out, " %s |", number(ratio(rival, entries[i]), "%.2f"))
		}
	}
	fmt.Fprintln(out)
}

// reasons writes the reasons of missing figures.
func reasons(out *strings.Builder, b book, sizes []size, jobs []job) {
	for _, at := range sizes {
		for _, j := range jobs {
			for _, c := range contenders {
				if reason := b.at(place{at, j.name, c.name}).reason; reason != nil {
					fmt.Fprintf(out, "\n- %s, %v, %s: %v\n", c.name, at, j.name, reason)
				}
			}
		}
	}
}

// mpirun returns the version of the installed Open MPI.
func mpirun() string {
	out, err := exec.Command("mpirun.openmpi", "--version").Output()
	if err != nil {
		return "Open MPI of unknown version"
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.Replace(first, "mpirun.openmpi (OpenRTE)", "Open MPI", 1)
}

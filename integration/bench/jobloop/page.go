package jobloop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// page renders the results.
func (s *settings) page(all []*series) string {
	var b strings.Builder
	b.WriteString(s.Head("Many small jobs", "build", "native"))
	fmt.Fprintf(&b, `%s, %s. Jobs of %d ranks of %s on %d nodes (network namespaces of this
machine, each with an sshd), which golaunch and Hydra's mpiexec start over ssh: %d jobs one
after another, the launchers in turn; and %d jobs, %d at a time, one launcher after the
other. After each part the machines are searched for processes, files, mounts and cgroups
that were not there before: none may be left %v later. Ratios one after another are medians
over the pairs of jobs.
`, results.Today(), results.Machine(),
		s.nodes*s.ppn, strings.Join(s.program, " "), s.nodes, s.jobs, s.crowd, s.atATime, leftLimit)
	b.WriteString(`
| jobs | launcher | median | slowest | all | to golaunch's | status 0 | left behind |
|---|---|---|---|---|---|---|---|
`)
	var notes []string
	first := map[bool]*series{}
	for _, x := range all {
		part, whole, ratio := "one after another", "–", "1"
		if first[x.crowd] == nil {
			first[x.crowd] = x
		} else {
			ratio = fmt.Sprintf("%.1f", x.ratio(first[x.crowd]))
		}
		if x.crowd {
			part, whole = fmt.Sprintf("%d at a time", s.atATime), seconds(x.all)
		}
		left := "nothing"
		if len(x.left) > 0 {
			left = fmt.Sprint(len(x.left))
			notes = append(notes, fmt.Sprintf("- %s, %s, left: %s", x.name, part, strings.Join(x.left, "; ")))
		}
		for _, status := range slices.Sorted(maps.Keys(x.statuses)) {
			if status != "0" {
				notes = append(notes, fmt.Sprintf("- %s, %s, %d times: %s", x.name, part, x.statuses[status], status))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d of %d | %s |\n", part, x.name, seconds(results.Median(x.took)), seconds(slices.Max(x.took)),
			whole, ratio, x.statuses["0"], len(x.took), left)
	}
	if len(all) == 2 {
		notes = append(notes, "- mpiexec is not installed: `make setup-bench`")
	}
	if len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	return b.String()
}

// ratio returns the ratio of the times of x and y: all of a crowd, or each job beside
// the one that ran in the same turn.
func (x *series) ratio(y *series) float64 {
	if x.crowd {
		return float64(x.all) / float64(y.all)
	}
	ratios := make([]float64, len(x.took))
	for i := range ratios {
		ratios[i] = float64(x.took[i]) / float64(y.took[i])
	}
	return results.Median(ratios)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

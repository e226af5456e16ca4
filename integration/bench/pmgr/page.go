package pmgr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// page renders the results.
func page(s settings, all map[int][ways][]reading) string {
	var b strings.Builder
	b.WriteString(s.Head("Start-up over PMGR, measured", "build", "native"))
	fmt.Fprintf(&b, `%s, %s. The two phases of figure 2.6 of [Sridhar] on %d nodes (network
namespaces of this machine, each with an sshd), degree %d, seconds, medians of %d runs in
turn. Spawn is from the start of golaunch to the last rank's main; init from there until the
last rank is through: over PMGR the names of all, an alltoall of 8 bytes for each pair and a
barrier; over PMI-1 (golaunch's own, in the same rounds) a put, a fence and two neighbours'
values. golaunch starts the ranks in all columns.

"Central" is one server that all ranks connect to, which takes, reads and answers one
after another (native/programs/pmgrcentral.c), as MVAPICH 1's launcher did: with the limits of its
time, a backlog of %d connections and %d open files; and with no limit but the machine's.
`, results.Today(), results.Machine(), s.nodes, s.degree, s.Runs, backlog, descriptors)
	b.WriteString(`
| ranks | PMGR spawn | init | PMI spawn | init | central spawn | init | unlimited spawn | init | central / PMGR, init |
|---|---|---|---|---|---|---|---|---|---|
`)
	var notes []string
	for _, n := range s.ranks {
		of := all[n]
		fmt.Fprintf(&b, "| %d |", n)
		for w := range ways {
			spawn, init, failed := median(of[w])
			if failed != "" {
				b.WriteString(" – | **fails** |")
				if note := fmt.Sprintf("%d ranks, central: %s", n, failed); !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
				continue
			}
			fmt.Fprintf(&b, " %.2f | %.3f |", spawn, init)
		}
		_, ours, _ := median(of[overPMGR])
		_, theirs, failed := median(of[overCentral])
		if failed != "" || ours <= 0 {
			b.WriteString(" – |\n")
		} else {
			fmt.Fprintf(&b, " %.1f |\n", theirs/ours)
		}
	}
	for _, note := range notes {
		fmt.Fprintf(&b, "\nFails: %s.\n", note)
	}
	b.WriteString(`
All nodes share this machine's processors: whoever does everything in one process spends
the least of them, and is not behind in time here as it is where each node has its own.
What shows is how much has to pass one place, which on a cluster becomes its time, and the
hard end at the descriptors. The busiest agent's links and its tree's messages; the central
server's connections and what it reads and writes:

| ranks | agent: MB | messages | central: connections | MB | messages | central / agent, messages |
|---|---|---|---|---|---|---|
`)
	for _, n := range s.ranks {
		a, c := all[n][overPMGR][0].load, all[n][overCentralNow][0].load
		fmt.Fprintf(&b, "| %d | %.2f | %.0f | %d | %.2f | %.0f | %.0f |\n", n, a.bytes/1e6, a.messages, n, c.bytes/1e6, c.messages, c.messages/max(a.messages, 1))
	}
	return b.String()
}

// median returns that of each phase, or the reason that one of the jobs failed.
func median(list []reading) (spawn, init float64, failed string) {
	var spawns, inits []float64
	for _, r := range list {
		if r.failed != "" {
			return 0, 0, r.failed
		}
		spawns, inits = append(spawns, r.spawn), append(inits, r.init)
	}
	return results.Median(spawns), results.Median(inits), ""
}

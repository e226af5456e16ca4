package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// published is the memory of the profiler of [Subramoni, table 7.1] for one quantity,
// in MiB, by the number of ranks.
var published = map[int]float64{64: 0.04, 128: 0.16, 256: 0.58, 512: 2.19, 1024: 8.61}

// more returns the further time of the second run of each pair.
func (r reading) more() []float64 {
	list := make([]float64, len(r.plain))
	for i := range list {
		list[i] = r.profiled[i] - r.plain[i]
	}
	return list
}

func (t trial) String() string {
	switch {
	case t.word == "latency":
		return "latency between two nodes"
	case t.threads:
		return "a call, MPI_THREAD_MULTIPLE"
	case t.time:
		return "a call, --profile-what time"
	}
	return "a call"
}

// page renders the results.
func page(s settings, readings map[trial]reading, sizes []memory) string {
	var b strings.Builder
	b.WriteString(s.Head("What a profile costs", "build", "native"))
	fmt.Fprintf(&b, `%s. A test cluster of two nodes on this machine (`+"`native/programs/profilebench.c`"+`). Each was run
without and with `+"`--profile`"+` in turn, %d pairs. *A call*: rank 0 sends itself %d messages of
8 bytes, each with MPI_Irecv, MPI_Send and MPI_Wait, of which MPI_Send counts; nanoseconds of CPU
for the three. With threads or time it is a tenth of the messages. *Latency*: half a round trip
of 8 bytes between two nodes over TCP, by the clock, in the fastest of 200 batches of %d. The
difference is the median of the differences of the pairs; beside it are the lowest and the
highest.

| MPI | what | without, ns | with, ns | difference, ns | of the pairs | in %% |
|---|---|---|---|---|---|---|
`, results.Today(), s.pairs, s.calls, s.trips)
	for _, t := range trials() {
		r := readings[t]
		more := r.more()
		plain := results.Median(r.plain)
		fmt.Fprintf(&b, "| %s | %v | %.1f | %.1f | %+.1f | %+.1f to %+.1f | %+.1f |\n", t.library, t, plain, results.Median(r.profiled),
			results.Median(more), slices.Min(more), slices.Max(more), 100*results.Median(more)/plain)
	}
	b.WriteString(`
## Memory

All ranks, on one node, send each other messages by MPI_Isend: the memory that their counters
take, in whole pages, for messages and bytes together. Beside it is
what the published profiler took for one of the two [Subramoni, table 7.1].

| ranks | bytes | for each pair | MiB for one quantity | published |
|---|---|---|---|---|
`)
	for _, m := range sizes {
		beside := "-"
		if p, ok := published[m.ranks]; ok {
			beside = fmt.Sprint(p)
		}
		fmt.Fprintf(&b, "| %d | %.0f | %.1f | %.3f | %s |\n", m.ranks, m.bytes, m.bytes/float64(m.ranks*m.ranks), m.bytes/2/(1<<20), beside)
	}
	return b.String()
}

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// reading is how long one operation takes.
type reading struct {
	op    string
	bytes int
}

// readings are microseconds, by way ("tree", "root", "mpi") and operation, and
// the order in which they came.
type readings map[string]map[reading]float64

// parseReadings reads what treebench and mpibench print.
func parseReadings(text string) (readings, error) {
	r := readings{}
	for line := range strings.Lines(text) {
		var way string
		var x reading
		var rounds int
		var us float64
		if _, err := fmt.Sscan(line, &way, &x.op, &x.bytes, &rounds, &us); err != nil {
			return nil, fmt.Errorf("unexpected line %q: %w", line, err)
		}
		if r[way] == nil {
			r[way] = map[reading]float64{}
		}
		r[way][x] = us
	}
	if len(r) == 0 {
		return nil, fmt.Errorf("no readings")
	}
	return r, nil
}

var ops = []string{"barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "ring", "pingpong"}

var sizes = []int{0, 8, 128, 1 << 10, 16 << 10, 128 << 10, 1 << 20}

// page renders the results.
func page(s settings, t tables) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Collective operations over the tree, measured

	go run ./integration/collbench -o docs/results/collectives.md

`)
	fmt.Fprintf(&b, "%s seconds for each operation and size, %s for each job; what is missing was cut off.\n", s.seconds, s.limit)
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // without it the page says less
	fmt.Fprintf(&b, `%s, %d cores, Linux %s. %d nodes are network namespaces of this
machine, each with an sshd; the tree has degree %d, and its links are SSH sessions.
Microseconds per operation, on the rank that takes longest, after one that is not
counted; "bytes" is what one rank gives to, or gets from, one other. MB/s is that over
the time. "Root" brings the same data to rank 0 by a gather and back by a bcast or
scatter of the same library. "MPI" is MPICH over TCP, one rank per node, which polls:
with fewer cores than ranks that is its worst case. All of it is bound by this
machine's processors, so ratios say more than times. "Ring" sends to the right
neighbor and receives from the left, "pingpong" goes to the last rank and back.
`, time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), strings.TrimSpace(string(kernel)), s.nodes, s.degree)
	if s.shared {
		b.WriteString("**Other programs ran at the same time: only the order of magnitude counts.**\n")
	}
	fmt.Fprintf(&b, "\n## %d ranks, %d per node\n\n", s.nodes*s.ppn, s.ppn)
	b.WriteString("| operation | bytes | tree | MB/s | root | root / tree |\n|---|---|---|---|---|---|\n")
	rows(t.many, func(x reading, tree float64) {
		fmt.Fprintf(&b, "| %s | %d | %.0f | %s | %s | %s |\n", x.op, x.bytes, tree, rate(x, tree), cell(t.many["root"], x), ratio(t.many["root"], x, tree))
	})
	fmt.Fprintf(&b, "\n## %d ranks, one per node\n\n", s.nodes)
	b.WriteString("| operation | bytes | tree | MB/s | root | MPI | root / tree | MPI / tree |\n|---|---|---|---|---|---|---|---|\n")
	rows(t.few, func(x reading, tree float64) {
		fmt.Fprintf(&b, "| %s | %d | %.0f | %s | %s | %s | %s | %s |\n", x.op, x.bytes, tree, rate(x, tree), cell(t.few["root"], x),
			cell(t.mpi["mpi"], x), ratio(t.few["root"], x, tree), ratio(t.mpi["mpi"], x, tree))
	})
	return b.String()
}

// rows calls row for what the tree was measured at, in order.
func rows(r readings, row func(x reading, tree float64)) {
	for _, op := range ops {
		for _, bytes := range sizes {
			x := reading{op, bytes}
			if us, ok := r["tree"][x]; ok {
				row(x, us)
			}
		}
	}
}

func cell(m map[reading]float64, x reading) string {
	if us, ok := m[x]; ok {
		return fmt.Sprintf("%.0f", us)
	}
	return "–"
}

func ratio(m map[reading]float64, x reading, tree float64) string {
	if us, ok := m[x]; ok && tree > 0 {
		return fmt.Sprintf("%.1f", us/tree)
	}
	return "–"
}

func rate(x reading, us float64) string {
	if x.bytes == 0 || us <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", float64(x.bytes)/us)
}

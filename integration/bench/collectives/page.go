package collectives

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// reading identifies an operation at a size.
type reading struct {
	op    string
	bytes int
}

// readings are microseconds, by way ("tree", "star", "mpi") and operation.
type readings map[string]map[reading]float64

// parseReadings reads the output of treebench, star and mpibench.
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

var ops = []string{"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "ring", "pingpong", "stream"}

var sizes = []int{0, 8, 1 << 10, 64 << 10, 1 << 20, 10 << 20, 64 << 20}

// page renders the results.
func page(s settings, t tables) string {
	var b strings.Builder
	b.WriteString(s.Head("Collective operations over the tree, measured", "build", "native"))
	fmt.Fprintf(&b, "%s seconds for each operation and size, %s for each job; what is missing was cut off.\n", s.seconds, s.limit)
	fmt.Fprintf(&b, `%s, %s. %d nodes are network namespaces of this
machine, each with an sshd; the tree has degree %d, and its links are SSH sessions.
Microseconds per operation, on the rank that takes longest, after some that are not
counted; "bytes" is what one rank gives to, or gets from, one other. MB/s is that over
the tree's time. "Star" is a TCP connection from each rank to rank 0, in the clear, over
which the data go there and back, a rank at a time. "MPI" is MPICH over TCP, which polls:
with fewer cores than ranks that is its worst case. All of it is bound by this machine's
processors, so ratios say more than times: below 1 the tree takes longer. "Ring" sends
to the right neighbor and receives from the left, "pingpong" goes to the last rank and
back, "stream" is 100,000 messages to it, all begun before any is waited for.

What the tree pays for length: a byte passes from a rank to its agent, is encrypted for
the link, passes an sshd, and goes from an agent to a rank, where the star has one
connection without any of that. Where ranks share nodes, the tree's links carry one part
of each node instead of one of each rank. In an allocation of Slurm's agents have links of
TLS, without an sshd between them: the table of these has star and MPI of the first.
`, results.Today(), results.Machine(), s.nodes, s.degree)
	table(&b, fmt.Sprintf("%d ranks, one per node", s.nodes), t.few)
	if len(t.tls) > 0 {
		table(&b, fmt.Sprintf("%d ranks, one per node, links of TLS", s.nodes), t.tls)
	}
	table(&b, fmt.Sprintf("%d ranks, %d per node", s.nodes*s.ppn, s.ppn), t.many)
	return b.String()
}

// table renders the tree's readings, in order.
func table(b *strings.Builder, title string, r readings) {
	fmt.Fprintf(b, "\n## %s\n\n| operation | bytes | tree | MB/s | star | MPI | star / tree | MPI / tree |\n|---|---|---|---|---|---|---|---|\n", title)
	for _, op := range ops {
		for _, bytes := range sizes {
			x := reading{op, bytes}
			if us, ok := r["tree"][x]; ok {
				fmt.Fprintf(b, "| %s | %d | %.0f | %s | %s | %s | %s | %s |\n", op, bytes, us, rate(x, us), cell(r["star"], x), cell(r["mpi"], x),
					ratio(r["star"], x, us), ratio(r["mpi"], x, us))
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
		return fmt.Sprintf("%.2g", us/tree)
	}
	return "–"
}

func rate(x reading, us float64) string {
	if x.bytes == 0 || x.op == "stream" || us <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", float64(x.bytes)/us)
}

package xrcsim

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/plot"
	"github.com/golaunch/golaunch/xrcsim"
)

// lines are the workloads and transports of the figures.
var lines = []struct {
	word      string
	transport xrcsim.Transport
}{
	{"alltoall", xrcsim.RC}, {"alltoall", xrcsim.XRC}, {"alltoall", xrcsim.DC},
	{"npb:ft:D", xrcsim.RC}, {"npb:ft:D", xrcsim.XRC},
	{"npb:mg:D", xrcsim.RC}, {"npb:mg:D", xrcsim.XRC},
}

// growth writes queue pairs and memory against the size of the job, up to a million
// ranks, as a table and figures.
func growth(b *strings.Builder, plots string) error {
	const ppn = 16
	pairs := &plot.Chart{Title: "Queue pairs of a process, 16 processes of a node", X: plot.Axis{Label: "ranks", Log: true}, Y: plot.Axis{Label: "queue pairs", Log: true}}
	memory := &plot.Chart{Title: "Memory of a process's queue pairs", X: pairs.X, Y: plot.Axis{Label: "MiB", Log: true}}
	b.WriteString("\n## Up to a million ranks\n\n16 processes of a node, shared memory inside; queue pairs of a process and their memory.\n\n| ranks |")
	for _, l := range lines {
		fmt.Fprintf(b, " %s %s |", l.word, l.transport)
		name := l.word + " " + string(l.transport)
		pairs.Series = append(pairs.Series, plot.Series{Name: name})
		memory.Series = append(memory.Series, plot.Series{Name: name})
	}
	b.WriteString("\n|" + strings.Repeat("---|", 1+len(lines)) + "\n")
	for ranks := 64; ranks <= 1<<20; ranks *= 4 {
		fmt.Fprintf(b, "| %d |", ranks)
		at := map[string]map[xrcsim.Transport]xrcsim.Point{} // of each word
		for i, l := range lines {
			if at[l.word] == nil {
				points, err := counted(l.word, ranks, ppn, xrcsim.Default(), xrcsim.RC, xrcsim.XRC, xrcsim.DC)
				if err != nil {
					return err
				}
				at[l.word] = map[xrcsim.Transport]xrcsim.Point{}
				for _, x := range points {
					at[l.word][x.Transport] = x
				}
			}
			x := at[l.word][l.transport]
			fmt.Fprintf(b, " %s, %s |", number(x.QueuePairs.Average), bytesText(x.QueuePairBytes.Average))
			pairs.Series[i].Points = append(pairs.Series[i].Points, plot.Point{X: float64(ranks), Y: x.QueuePairs.Average})
			memory.Series[i].Points = append(memory.Series[i].Points, plot.Point{X: float64(ranks), Y: x.QueuePairBytes.Average / (1 << 20)})
		}
		b.WriteByte('\n')
	}
	for name, c := range map[string]*plot.Chart{"xrcsim-queue-pairs.svg": pairs, "xrcsim-memory.svg": memory} {
		if err := c.WriteFile(filepath.Join(plots, name)); err != nil {
			return err
		}
	}
	b.WriteString("\n![queue pairs of a process against ranks](plots/xrcsim-queue-pairs.svg)\n\n![memory of a process's queue pairs](plots/xrcsim-memory.svg)\n\n" +
		"FT changes from slabs to a grid of processes beyond 1,024 ranks in class D, so that nobody exchanges with all any more.\n")
	return nil
}

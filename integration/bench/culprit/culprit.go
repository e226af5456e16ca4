// Package culprit has a rank of a job over several nodes end by itself, whereupon its
// peers end, too, and counts the runs in which golaunch names it, and the errors of the
// times that it takes the ends for. It writes docs/results/culprit.md.
package culprit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// program is run on some nodes, a rank on each.
type program struct {
	name  string
	nodes int
	argv  []string
	tells bool // each rank writes when it ends
}

// programs returns those of bin, and star, a file.
func programs(bin, star string) []program {
	native := func(name string) string { return filepath.Join(bin, "native", name) }
	return []program{
		{"two ranks over a socket", 2, []string{native("peerend")}, true},
		{"a star of eight Python ranks over sockets", 8, []string{"python3", star}, true},
		{"MPICH, a ring of four", 4, []string{native("mpidie")}, false},
		{"Open MPI, a ring of four", 4, []string{native("mpidie.openmpi")}, false},
	}
}

// ways are the ends of a rank, each with golaunch's exit code.
var ways = []struct {
	end  string
	code int
}{{"kill", 128 + 9}, {"segv", 128 + 11}, {"exit", 3}}

// Run runs the programs and writes the counts of named culprits.
func Run(ctx context.Context, f *results.Flags) error {
	f.Runs = 20
	busy := f.Int("busy", 8, "loops that keep processors busy, for the load")
	if err := f.Parse(); err != nil {
		return err
	}
	if *busy < 0 {
		return fmt.Errorf("-busy %d: want a number from 0 on", *busy)
	}
	bin, err := results.Built("golaunch", "native/peerend")
	if err != nil {
		return err
	}
	page := &strings.Builder{}
	page.WriteString(f.Head("Who is named as the cause", "build", "native"))
	fmt.Fprintf(page, `%s, %s. Nodes are namespaces with an sshd each, on one machine. A rank
ends by itself; who sees a connection to it end exits with code 5 at once, or MPI aborts. Right is a run whose exit code is the rank's.

The error is that of the time between the rank's end and a peer's: by what golaunch
takes them for, and by what both write of one clock right before they end. What the
kernel does of a process between that and the end of its connections is in it.

`, results.Today(), results.Machine())
	err = cluster.With(ctx, bin, cluster.Config{Nodes: 8, Share: []string{bin}}, func(c *cluster.Cluster, dir string) error {
		star, err := filepath.Abs("integration/e2e/testdata/star.py")
		if err != nil {
			return err
		}
		for _, load := range []int{0, *busy} {
			if err := series(ctx, page, &trial{c, filepath.Join(bin, "golaunch"), f.Runs}, programs(bin, star), load); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.Write(page.String())
}

// series runs everything beside some busy loops.
func series(ctx context.Context, page *strings.Builder, t *trial, programs []program, load int) error {
	stop, err := keepBusy(ctx, load)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(page, "## %s\n\n| program | %s |\n|---%s|\n", title(load), "SIGKILL | SIGSEGV | exit 3", strings.Repeat("|---", len(ways)))
	var errs []time.Duration
	for _, p := range programs {
		fmt.Fprintf(page, "| %s |", p.name)
		for _, w := range ways {
			right := 0
			for i := range t.runs {
				o, err := t.once(ctx, p, i%p.nodes, w.end)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", p.name, w.end, err)
				}
				if o.code == w.code {
					right++
				}
				errs = append(errs, o.errs...)
			}
			fmt.Fprintf(page, " %d of %d |", right, t.runs)
		}
		page.WriteString("\n")
	}
	fmt.Fprintf(page, "\nLoad averages at the end: %s.\n\n%s\n", loadAverage(), histogram(errs))
	return nil
}

func title(load int) string {
	if load == 0 {
		return "Without load of its own"
	}
	return fmt.Sprintf("Beside %d busy loops", load)
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); err == nil && len(f) > 2 {
		return strings.Join(f[:3], ", ")
	}
	return "unknown"
}

// keepBusy runs loops until stop.
func keepBusy(ctx context.Context, n int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var loops []*exec.Cmd
	stop = func() {
		cancel()
		for _, l := range loops {
			_ = l.Wait() // killed
		}
	}
	for range n {
		l := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := l.Start(); err != nil {
			stop()
			return nil, err
		}
		loops = append(loops, l)
	}
	return stop, nil
}

// steps are the upper bounds of the histogram.
var steps = []time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
}

// histogram renders the table of errors, by size.
func histogram(errs []time.Duration) string {
	if len(errs) == 0 {
		return "No peer ended by itself.\n"
	}
	var b strings.Builder
	b.WriteString("| error | the peer's end too early | too late |\n|---|---|---|\n")
	from := time.Duration(0)
	for i := range len(steps) + 1 {
		to, name := time.Duration(1<<62), fmt.Sprintf("%v or more", from)
		if i < len(steps) {
			to = steps[i]
			name = fmt.Sprintf("below %v", to)
		}
		var early, late int
		for _, e := range errs {
			switch {
			case e.Abs() < from || e.Abs() >= to:
			case e < 0:
				early++
			default:
				late++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d |\n", name, early, late)
		from = to
	}
	slices.Sort(errs)
	fmt.Fprintf(&b, "\n%d pairs of ends; the largest errors are %v and %v.\n", len(errs), errs[0].Round(time.Microsecond), errs[len(errs)-1].Round(time.Microsecond))
	return b.String()
}

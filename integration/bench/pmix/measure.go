package pmix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/golaunch/golaunch/integration/cluster"
)

// job is a program that is run, and the reader of its ranks' output.
type job struct {
	name    string
	program string // without the suffix of its library
	args    []string
	read    func(out string, begun int64, ranks int) ([]float64, error) // milliseconds
}

var (
	startups  = []job{{"start-up to the end of MPI_Init", "mpihello", []string{"-t"}, ready}}
	exchanges = []job{
		{"put and fence that collects", "pmixclient", []string{"-t", "-m", "across"}, fence},
		{"put, fence and direct modex", "pmixclient", []string{"-t", "-m", "across", "-d"}, whole},
	}
)

// library is the MPI library that a rank is linked with.
type library struct {
	name   string
	suffix string // of programs that use MPI
	client string // of those that use PMIx alone
}

var (
	four = library{"4.1.4", ".openmpi", ""}
	five = library{"5.0.7", ".openmpi5", ".openmpi5"}
)

// contender is a launcher with a library.
type contender struct {
	name string
	library
	argv func(f field, at size) []string // before the program
}

var contenders = []contender{
	{"golaunch, 4.1.4", four, func(f field, at size) []string { return f.golaunch(at, "--pmix") }},
	{"mpirun 4.1.4", four, field.mpirun4},
	{"srun, 4.1.4", four, field.srun},
	{"golaunch, 5.0.7", five, func(f field, at size) []string { return f.golaunch(at) }},
	{"mpirun 5.0.7", five, field.mpirun5},
	{"srun, 5.0.7", five, field.srun},
}

// field is a cluster with what contenders need on it.
type field struct {
	*cluster.Cluster
	settings
}

func (s size) all() string { return strconv.Itoa(s.nodes * s.ranks) }

func (f field) golaunch(at size, more ...string) []string {
	argv := []string{filepath.Join(f.bin, "golaunch"), "-f", f.HostFile(), "--ssh-config", f.SSHConfig(), "-n", at.all(), "-N", strconv.Itoa(at.ranks)}
	return append(argv, more...)
}

func (f field) mpirun4(at size) []string {
	return []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "plm", "rsh",
		"--hostfile", f.HostFile(), "-n", at.all(), "--map-by", "ppr:" + strconv.Itoa(at.ranks) + ":node"}
}

func (f field) mpirun5(at size) []string {
	return []string{filepath.Join(f.five, "prterun"), "--allow-run-as-root", "--bind-to", "none",
		"--prtemca", "plm", "ssh", "--prtemca", "prte_launch_agent", filepath.Join(f.five, "prted"),
		"--hostfile", f.HostFile(), "-n", at.all(), "--map-by", "ppr:" + strconv.Itoa(at.ranks) + ":node:oversubscribe"}
}

func (f field) srun(at size) []string {
	return []string{"srun", "--mpi=pmix", "-O", "-N", strconv.Itoa(at.nodes), "-n", at.all(), "--ntasks-per-node", strconv.Itoa(at.ranks)}
}

// round runs a job once under each contender.
func (f field) round(ctx context.Context, at size, j job, b book) {
	for _, c := range contenders {
		p := place{at, j.name, c.name}
		if strings.HasPrefix(c.name, "srun") && f.noSlurm != nil {
			b.fail(p, f.noSlurm)
			continue
		}
		if b.failed(p) { // it is as it was
			continue
		}
		times, err := f.once(ctx, at, j, c)
		if err != nil {
			b.fail(p, err)
			continue
		}
		b.add(p, times)
	}
}

// once runs one, and returns the times of its ranks.
func (f field) once(ctx context.Context, at size, j job, c contender) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	suffix := c.suffix
	if j.program == "pmixclient" {
		suffix = c.client
	}
	argv := append(c.argv(f, at), filepath.Join(f.bin, "native", j.program+suffix))
	argv = append(argv, j.args...)
	if j.program == "pmixclient" {
		argv = append(argv, "-n", strconv.Itoa(f.rounds))
	}
	cmd := f.CommandContext(ctx, cluster.Head, argv...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	begun, err := clock()
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("no end within %v", f.limit)
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, firstLine(errs.String()))
	}
	return j.read(string(out), begun, at.nodes*at.ranks)
}

// firstLine returns the first line that says something.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Trim(line, "-") != "" {
			return line
		}
	}
	return "it says nothing"
}

// clock returns the machine's monotonic clock, in nanoseconds, as ranks read it.
func clock() (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano(), err
}

// ready reads lines of mpihello -t: the time of the last rank.
func ready(out string, begun int64, ranks int) ([]float64, error) {
	seen, last := map[int]bool{}, begun
	for line := range strings.Lines(out) {
		var rank int
		var at int64
		if n, _ := fmt.Sscanf(line, "rank %d ready %d", &rank, &at); n != 2 {
			return nil, fmt.Errorf("not a line of mpihello -t: %q", line)
		}
		seen[rank], last = true, max(last, at)
	}
	if len(seen) != ranks {
		return nil, fmt.Errorf("%d ranks of %d told when they were ready", len(seen), ranks)
	}
	return []float64{float64(last-begun) / 1e6}, nil
}

// fence reads lines of pmixclient -t: from the first rank's begin to the last rank's end
// of each fence, whole to the end of the gets.
func fence(out string, _ int64, ranks int) ([]float64, error) { return steps(out, ranks, 2) }
func whole(out string, _ int64, ranks int) ([]float64, error) { return steps(out, ranks, 3) }

func steps(out string, ranks, last int) ([]float64, error) {
	type span struct {
		begin, end int64
		ranks      int
	}
	var spans []span
	round := map[int]int{} // of each rank
	for line := range strings.Lines(out) {
		var rank int
		var t [4]int64
		if n, _ := fmt.Sscanf(line, "rank %d times %d %d %d %d", &rank, &t[0], &t[1], &t[2], &t[3]); n != 5 {
			return nil, fmt.Errorf("not a line of pmixclient -t: %q", line)
		}
		i := round[rank]
		if round[rank]++; i == len(spans) {
			spans = append(spans, span{begin: math.MaxInt64})
		}
		spans[i] = span{min(spans[i].begin, t[0]), max(spans[i].end, t[last]), spans[i].ranks + 1}
	}
	var times []float64
	for i, s := range spans {
		if s.ranks != ranks {
			return nil, fmt.Errorf("%d ranks of %d told the times of round %d", s.ranks, ranks, i)
		}
		times = append(times, float64(s.end-s.begin)/1e6)
	}
	if len(times) == 0 {
		return nil, errors.New("no rank told its times")
	}
	return times, nil
}

// Command bench measures golaunch beside its rivals on test clusters of this
// machine, in the same run, and writes the tables of docs/results/ (design
// section 8).
//
// Runs of golaunch and of the rival alternate; a table quotes the median of
// each, and the median of the ratios pair by pair. CPU is that of the whole
// machine: nothing else should run on it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// settings say what is measured.
type settings struct {
	runs  int
	out   string
	nodes []int
	ranks []int // per node
	local []int // ranks on this machine alone
	bin   string
	rest  []string // the command line, to be quoted in the results
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if os.Getuid() != 0 {
		return errors.New("not root: the clusters of namespaces need it")
	}
	if _, err := exec.LookPath("mpiexec.hydra"); err != nil {
		return errors.New("no mpiexec.hydra to compare with: apt-get install mpich")
	}
	var page strings.Builder
	preamble(&page, s)
	if err := localTable(ctx, &page, s); err != nil {
		return err
	}
	for _, kex := range []string{cluster.KexDefault, cluster.KexCurve25519} {
		if err := clusterTable(ctx, &page, s, kex); err != nil {
			return err
		}
	}
	if s.out == "" {
		_, err := fmt.Print(page.String())
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.out, []byte(page.String()), 0o644)
}

func parse(args []string) (settings, error) {
	s := settings{rest: args}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&s.runs, "runs", 3, "how often each is run")
	f.StringVar(&s.out, "o", "", "write to `FILE`; else to standard output")
	nodes := f.String("nodes", "8,32,64", "numbers of nodes")
	ranks := f.String("ranks", "1,16", "ranks per node")
	local := f.String("local", "1024,4096", "ranks on this machine alone")
	quick := f.Bool("quick", false, "8 nodes, 1024 local ranks, one run")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("stray argument %q", f.Arg(0))
	}
	if *quick {
		*nodes, *local, s.runs = "8", "1024", 1
	}
	if s.runs < 1 {
		return s, fmt.Errorf("-runs %d: must be positive", s.runs)
	}
	for _, list := range []struct {
		flag, value string
		to          *[]int
	}{{"nodes", *nodes, &s.nodes}, {"ranks", *ranks, &s.ranks}, {"local", *local, &s.local}} {
		for _, word := range strings.Split(list.value, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return s, fmt.Errorf("-%s %q: not a list of positive numbers", list.flag, list.value)
			}
			*list.to = append(*list.to, n)
		}
	}
	var err error
	s.bin, err = filepath.Abs("bin")
	return s, err
}

// preamble says what was measured, on what, and how to do it again.
func preamble(page *strings.Builder, s settings) {
	fmt.Fprintf(page, `# The main job, measured

	go run ./integration/bench %s

%s. %d cores, Linux %s, %s, %s, %s. Milliseconds of wall time
from the start of the command to its end, medians of %d alternating runs; "ratio" is the
median over the pairs. CPU is that of the whole machine, in seconds. Nodes are
namespaces with an sshd each, on this machine, so that everything here is bound
by its CPU.
`, strings.Join(s.rest, " "), time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), kernel(),
		version("mpiexec.hydra", "--version", "Version:"), version("sshd", "-V", "OpenSSH"), version("gcc", "--version", "gcc"), s.runs)
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "of unknown version"
	}
	return strings.TrimSpace(string(b))
}

// version is the first line that a program prints with mark in it.
func version(program, flag, mark string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		path = "/usr/sbin/" + program
	}
	out, _ := exec.Command(path, flag).CombinedOutput() // old sshds call it an error
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, mark) {
			return program + " (" + strings.Join(strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), mark)), " ") + ")"
		}
	}
	return program
}

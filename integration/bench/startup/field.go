package startup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/rivals"
)

// field is a cluster with what contenders need on it.
type field struct {
	*cluster.Cluster
	settings
	kex     string
	dir     string            // that all machines see
	noSlurm string            // the reason that srun does not run here; "" if it does
	inside  []string          // the environment inside an allocation of Slurm's; nil outside
	broken  map[string]string // contenders that failed the check, with the reasons
	before  map[procKey]bool
}

type procKey struct {
	pid   int
	start uint64
}

// onField brings a cluster up for work. The nodes get head's key, which the trees of
// rivals need; golaunch's do not, but it is there. If its Slurm does not come up, srun
// is left out with the reason.
func (s settings) onField(ctx context.Context, config cluster.Config, work func(*field) error) error {
	parent := filepath.Join(filepath.Dir(s.bin), ".cache")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	noSlurm := ""
	on := func() error {
		return cluster.With(ctx, parent, config, func(c *cluster.Cluster, dir string) error {
			f := &field{Cluster: c, settings: s, kex: config.Kex, dir: dir, broken: map[string]string{}, noSlurm: noSlurm}
			if err := rivals.GiveKeys(c); err != nil {
				return err
			}
			return work(f)
		})
	}
	if !config.Slurm {
		noSlurm = "it makes no connections over ssh: see the default key exchange"
		return on()
	}
	config.SlurmCPUs, config.SlurmPatience = slurmCPUs, slurmPatience
	err := cluster.SlurmUnavailable()
	if err == nil {
		if err = on(); !errors.Is(err, cluster.ErrSlurm) {
			return err
		}
	}
	s.tell("srun: %v", err)
	config.Slurm, noSlurm = false, err.Error()
	return on()
}

const (
	// slurmCPUs is the number of ranks that a node takes.
	slurmCPUs = 64
	// slurmPatience bounds srun's wait for a daemon, all of which share this machine.
	slurmPatience = 30 * time.Second
)

// once runs an entry's command, on head or here, and returns its standard output.
func (f *field) once(ctx context.Context, limit time.Duration, x runner) (r reading, out string, begun time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stderr bytes.Buffer
	var output func() ([]byte, error)
	var state func() *os.ProcessState
	took := "" // the file of the clock on head
	if x.here {
		cmd := local(ctx, x.argv)
		cmd.Env, cmd.Stderr, cmd.WaitDelay = append(os.Environ(), x.env...), &stderr, time.Second
		output, state = cmd.Output, func() *os.ProcessState { return cmd.ProcessState }
	} else {
		argv := x.argv
		if f.provider == cluster.Docker {
			argv, took = f.timedCommand(argv)
		}
		cmd := f.CommandContext(ctx, cluster.Head, argv...)
		cmd.Env = append(cmd.Env, x.env...)
		cmd.Stderr, cmd.WaitDelay = &stderr, time.Second // its remains may hold its output open
		output, state = cmd.Output, func() *os.ProcessState { return cmd.ProcessState }
	}
	before, err := f.cpuTime()
	if err != nil {
		return r, "", begun, err
	}
	begun = time.Now()
	text, err := output()
	r.wall = time.Since(begun)
	if err != nil {
		return r, string(text), begun, failure(ctx, err, limit, stderr.String()+string(text))
	}
	r.self = state().UserTime() + state().SystemTime()
	if took != "" {
		if begun, err = readTimed(took, &r); err != nil {
			return r, string(text), begun, err
		}
	}
	after, err := f.settled()
	r.cpu = after - before
	return r, string(text), begun, err
}

// failure explains a failed run in a line.
func failure(ctx context.Context, err error, limit time.Duration, said string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w within %v", errNoEnd, limit)
	}
	const most = 200
	said = strings.Join(strings.Fields(said), " ")
	if len(said) > most {
		said = said[:most] + " ..."
	}
	if said == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, said)
}

var errNoEnd = errors.New("no end")

// remember notes the processes on the machines while no job runs.
func (f *field) remember() error {
	f.before = map[procKey]bool{}
	return f.each(func(p cluster.Proc) { f.before[procKey{p.PID, p.Start}] = true })
}

// sweep ends the remains of a failed run.
func (f *field) sweep() error {
	return f.each(func(p cluster.Proc) {
		if !f.before[procKey{p.PID, p.Start}] {
			_ = p.Signal(syscall.SIGKILL) // it may be gone meanwhile
		}
	})
}

func (f *field) each(do func(cluster.Proc)) error {
	machines := []string{cluster.Head}
	for _, n := range f.Nodes() {
		machines = append(machines, n.Name)
	}
	for _, name := range machines {
		procs, err := f.Processes(name)
		if err != nil {
			return err
		}
		for _, p := range procs {
			do(p)
		}
	}
	return nil
}

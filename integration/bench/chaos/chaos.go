// Package chaos runs random jobs on a test cluster of this machine, lets random things
// happen to them (processes are killed or stopped, links go down, disks are full), and
// judges the outcome: whether golaunch ends in time, with a status that the events
// explain, names the culprit, and leaves nothing.
//
// A seed and a number make a job: -seed N -job K draws it again. Times are drawn
// too, but a machine is never twice in the same state.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// settings are the command line.
type settings struct {
	time   time.Duration
	seed   uint64
	job    int // the only one; 0 for all
	nodes  int
	race   bool
	kinds  string // regular expressions: the kinds of jobs, and the blows
	blows  string
	limits limits
	results.Frame
	// revision is that of golaunch's source.
	revision string
	tell     func(format string, args ...any)
}

// Run runs jobs until the time is up and writes the page of them.
func Run(ctx context.Context, f *results.Flags) error {
	s := settings{tell: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	f.DurationVar(&s.time, "time", 30*time.Minute, "how long jobs are started")
	f.Uint64Var(&s.seed, "seed", rand.Uint64()>>32, "the seed of the jobs")
	f.IntVar(&s.job, "job", 0, "run only the job of `NUMBER`")
	f.IntVar(&s.nodes, "nodes", 8, "nodes of the cluster")
	f.BoolVar(&s.race, "race", false, "build golaunch with the race detector (cgo), and use it for half of the jobs")
	f.StringVar(&s.kinds, "kinds", "", "draw only jobs of kinds that match `REGEXP`")
	f.StringVar(&s.blows, "blows", "", "draw only blows that match `REGEXP`")
	f.DurationVar(&s.limits.hang, "hang", 30*time.Second, "how long golaunch may take to end, beyond the limits it states")
	f.DurationVar(&s.limits.left, "left", 3*time.Second, "how long something may be left when it has ended")
	if err := f.Parse(); err != nil {
		return err
	}
	s.Frame = f.Frame
	if s.time <= 0 || s.job < 0 {
		return fmt.Errorf("-time %v, -job %d: want a time above 0, and the number of a job or 0", s.time, s.job)
	}
	bin, err := results.Built("golaunch")
	if err != nil {
		return err
	}
	native := filepath.Join(bin, "native")
	if err := programs.Examples(native); err != nil {
		return err
	}
	race := ""
	if s.race {
		race = filepath.Join(bin, "golaunch-race")
		if err := programs.Race(race); err != nil {
			return err
		}
	}
	s.revision = revision(ctx, ".")
	t, err := s.chaos(ctx, filepath.Join(bin, "golaunch"), race, native, bin)
	if t.jobs == 0 {
		return err
	}
	page := strings.ReplaceAll(t.page(s), bin+"/", "")
	return errors.Join(f.Conclude(ctx, page, err), t.err())
}

// revision returns that of the source in a directory, "-dirty" if it was changed since.
func revision(ctx context.Context, dir string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		return "of no known commit"
	}
	return strings.TrimSpace(string(out))
}

// chaos makes a cluster below dir, which its nodes see, and runs jobs on it until
// the time is up.
func (s settings) chaos(ctx context.Context, golaunch, race, native, dir string) (*tally, error) {
	s.tell("seed %d", s.seed)
	t := newTally()
	config := cluster.Config{Nodes: s.nodes, Share: append(programs.Shared(filepath.Dir(golaunch)), native), SessionEnv: raceEnv}
	memory := cluster.MemoryUnavailable()
	config.Memory = memory == nil
	return t, cluster.With(ctx, dir, config, func(c *cluster.Cluster, dir string) error {
		p := place{cluster: c, sshConfig: c.SSHConfig(), golaunch: golaunch, race: race, native: native, dir: dir}
		for _, n := range c.Nodes() {
			p.nodes = append(p.nodes, n.Name)
		}
		if err := p.survey(p.built, memory); err != nil {
			return err
		}
		if err := p.only(s.kinds, s.blows); err != nil {
			return err
		}
		for _, l := range p.lacks {
			s.tell("left out: %s", l)
		}
		t.lacks = p.lacks
		if err := p.prepare(); err != nil {
			return err
		}
		return errors.Join(s.all(ctx, p, t), p.countKills(t))
	})
}

// all runs one job, or as many as there is time for.
func (s settings) all(ctx context.Context, p place, t *tally) error {
	if s.job != 0 {
		return s.one(p, t, s.job)
	}
	for end, n := time.Now().Add(s.time), 1; time.Now().Before(end) && ctx.Err() == nil; n++ {
		if err := s.one(p, t, n); err != nil {
			return err
		}
	}
	return nil
}

// countKills counts the processes that the kernel has killed for want of memory.
func (p place) countKills(t *tally) error {
	if cluster.MemoryUnavailable() != nil {
		return nil //nolint:nilerr // the blows of memory are left out, and the page says so
	}
	for _, name := range p.nodes {
		kills, err := p.cluster.MemoryKills(name)
		if err != nil {
			return err
		}
		t.kills += kills
	}
	return nil
}

// prepare makes the directory that an account mostly has, and that the agent may
// be copied to.
func (p place) prepare() error {
	for _, name := range p.nodes {
		if out, err := p.cluster.Command(name, "sh", "-c", `mkdir -p "$HOME/.cache"`).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, out)
		}
	}
	return nil
}

func (s settings) one(p place, t *tally, number int) error {
	d := p.draw(s.seed, number)
	o, err := p.run(d, s.limits)
	if err != nil {
		return fmt.Errorf("%v: %w", d, err)
	}
	t.add(o)
	if len(o.faults) > 0 || s.job != 0 {
		s.tell("%v", &o)
	}
	return nil
}

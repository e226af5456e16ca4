package managers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/programs"
)

const (
	// limit bounds every wait: a hang is a failure. Slurm's shortest time limit is a minute,
	// it looks every half minute for jobs whose time is up, and jobs wait for each other's CPUs.
	limit = 5 * time.Minute
	// busy bounds the time of Slurm's daemons to answer each other where all of them live.
	busy = 30 * time.Second
	// sharedNodes are those of the cluster that tests share which break nothing.
	sharedNodes = 5
)

// built holds golaunch and the native programs.
var built string

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == strangerWord {
		os.Exit(stranger(os.Args[2]))
	}
	var err error
	if built, err = programs.Make(); err != nil {
		fmt.Fprintln(os.Stderr, "managers: build what the tests run:", err)
		os.Exit(1)
	}
	// Nodes do not see where this program is.
	self, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(bin("stranger"), self, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "managers: copy this program:", err)
		os.Exit(1)
	}
	code := m.Run()
	for _, c := range []*cluster.Cluster{shared.cluster, sharedGrid.cluster} {
		if c == nil {
			continue
		}
		if err := c.Down(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "managers: take a cluster down:", err)
			code = 1
		}
	}
	os.RemoveAll(built)
	os.Exit(code)
}

func bin(name string) string { return filepath.Join(built, name) }

// needBuilt skips where a native program was not built for want of a library.
func needBuilt(t *testing.T, program, packages string) {
	t.Helper()
	if _, err := os.Stat(bin(program)); err != nil {
		t.Skipf("skipped: %s was not built; apt-get install %s", program, packages)
	}
}

// site is a cluster with Slurm or Grid Engine, whose jobs an ordinary user has.
type site struct {
	*cluster.Cluster
	t   *testing.T
	dir string // that all nodes see and the user may write to
}

// sharing is a cluster that is made when a test first wants it.
type sharing struct {
	once    sync.Once
	cluster *cluster.Cluster
	err     error
}

var shared, sharedGrid sharing

func needSlurm(t *testing.T) {
	t.Helper()
	if err := cluster.SlurmUnavailable(); err != nil {
		t.Skipf("skipped: no cluster with Slurm here: %v", err)
	}
}

// up makes a cluster with the managers that c names.
func up(c cluster.Config) (*cluster.Cluster, error) {
	dir, err := os.MkdirTemp(built, "cluster-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the user is another
		return nil, err
	}
	c.Dir, c.User, c.Share = filepath.Join(dir, "c"), "user", []string{built}
	return cluster.Up(context.Background(), c)
}

// theSite is the one that tests share. Their jobs may run beside each other.
func theSite(t *testing.T) *site {
	t.Helper()
	needSlurm(t)
	shared.once.Do(func() {
		shared.cluster, shared.err = up(cluster.Config{Nodes: sharedNodes, Slurm: true, SlurmPatience: busy})
	})
	require.NoError(t, shared.err)
	return at(t, shared.cluster)
}

// ownSite is one for a test that breaks nodes.
func ownSite(t *testing.T, nodes int) *site {
	t.Helper()
	needSlurm(t)
	return own(t, cluster.Config{Nodes: nodes, Slurm: true})
}

// own makes a cluster for one test.
func own(t *testing.T, config cluster.Config) *site {
	t.Helper()
	c, err := up(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Down(context.Background())) })
	return at(t, c)
}

func at(t *testing.T, c *cluster.Cluster) *site {
	dir, err := os.MkdirTemp(built, "job-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o777)) // the user is another
	return &site{Cluster: c, t: t, dir: dir}
}

// head runs a command on head and returns all that it says.
func (s *site) head(argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	cmd := s.CommandContext(ctx, cluster.Head, argv...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// job is a batch job.
type job struct {
	*site
	id   string
	file string // its output
}

// submit gives Slurm a script, with the flags that sbatch gets. In the script
// golaunch is in PATH.
func (s *site) submit(script string, flags ...string) *job {
	s.t.Helper()
	j := &job{site: s, file: filepath.Join(s.dir, "output")}
	path := filepath.Join(s.dir, "script")
	require.NoError(s.t, os.WriteFile(path, []byte("#!/bin/sh\nPATH="+built+":$PATH\n"+script+"\n"), 0o755))
	argv := append([]string{"sbatch", "--parsable", "--output", j.file, "--chdir", s.dir}, flags...)
	out, err := s.head(append(argv, path)...)
	require.NoError(s.t, err, out)
	j.id = strings.TrimSpace(out)
	s.t.Cleanup(func() { _, _ = s.head("scancel", "--signal=KILL", j.id) }) // it has ended, unless the test failed
	return j
}

// output returns the job's output so far.
func (j *job) output() string {
	b, err := os.ReadFile(j.file)
	if !os.IsNotExist(err) {
		require.NoError(j.t, err)
	}
	return string(b)
}

// eventually waits for something.
func (j *job) eventually(goal string, reached func() bool) {
	j.t.Helper()
	if !cluster.Eventually(limit, reached) {
		require.Fail(j.t, goal, "the job says: %s", j.output())
	}
}

// says waits until the job has printed some words so many times.
func (j *job) says(words string, times int) {
	j.t.Helper()
	j.eventually(fmt.Sprintf("%d times %q", times, words), func() bool { return strings.Count(j.output(), words) >= times })
}

// wait waits until Slurm has forgotten the job, and all of it has gone from every node.
func (j *job) wait() string {
	j.t.Helper()
	j.eventually("the job ends", func() bool {
		state := j.state()
		return !strings.Contains(state, "RUNNING") && !strings.Contains(state, "PENDING") && !strings.Contains(state, "COMPLETING")
	})
	j.nothingLeft()
	return j.output()
}

// numbers are the variables that have a job's number, of Slurm and of Grid Engine.
var numbers = []string{"SLURM_JOB_ID", "SLURM_JOBID", "JOB_ID"}

// processes finds those of the job on a node, by its number in their environment.
// Neither the node's own Slurm is among them, nor wardens, which have none of it.
func (j *job) processes(node string) (found []cluster.Proc) {
	j.t.Helper()
	all, err := j.Processes(node)
	require.NoError(j.t, err)
	for _, p := range all {
		line := strings.Join(p.Cmdline, " ")
		env, err := p.Environ()
		switch {
		case err != nil: // it has ended
		case strings.Contains(line, "slurmstepd"), strings.Contains(line, "slurmd"):
		case slices.ContainsFunc(numbers, func(name string) bool { return slices.Contains(env, name+"="+j.id) }):
			found = append(found, p)
		}
	}
	return found
}

// nothingLeft waits until none of its processes lives on any node.
func (j *job) nothingLeft() {
	j.t.Helper()
	j.eventually("nothing is left", func() bool {
		for _, n := range j.Nodes() {
			if len(j.processes(n.Name)) > 0 {
				return false
			}
		}
		return true
	})
}

// lines are those of text that begin with a label, without golaunch's own.
func lines(text string) (found []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "[") {
			found = append(found, strings.TrimSuffix(line, "\n"))
		}
	}
	return found
}

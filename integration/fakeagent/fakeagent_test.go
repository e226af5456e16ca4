package fakeagent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/trial"
	"github.com/golaunch/golaunch/integration/programs"
	"github.com/golaunch/golaunch/internal/job"
)

const (
	limit       = 2 * time.Minute // of a job: it ends long before, or hangs; and of its leftovers
	memoryLimit = 128             // MiB that golaunch, or an agent, may take
)

// lab is a cluster of four nodes, with its programs.
type lab struct {
	*cluster.Cluster
	golaunch, shell string
}

// labs holds the labs that are up: as many as tests run at a time.
var labs struct {
	sync.Mutex
	built, shell string // "" until the first is wanted
	all, free    []lab
}

func TestMain(m *testing.M) {
	if IsShell() {
		os.Exit(Main(os.Args[1:]))
	}
	code := m.Run()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	for _, l := range labs.all {
		if err := l.Down(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "fakeagent: take the cluster down:", err)
			code = 1
		}
	}
	cancel()
	os.RemoveAll(labs.built)
	os.Exit(code)
}

// needCluster skips where a cluster cannot be made.
func needCluster(t *testing.T) {
	if err := cluster.Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
}

// aLab is one that the test has for itself until it ends.
func aLab(t *testing.T) lab {
	labs.Lock()
	defer labs.Unlock()
	if labs.built == "" {
		var err error
		labs.built, err = programs.Make()
		require.NoError(t, err)
		labs.shell, err = Copy(labs.built)
		require.NoError(t, err)
	}
	if len(labs.free) == 0 {
		c, err := cluster.Up(t.Context(), cluster.Config{Dir: filepath.Join(labs.built, fmt.Sprint("c", len(labs.all))), Nodes: 4, Share: []string{labs.built}})
		require.NoError(t, err)
		l := lab{c, filepath.Join(labs.built, "golaunch"), labs.shell}
		labs.all, labs.free = append(labs.all, l), append(labs.free, l)
	}
	last := len(labs.free) - 1
	l := labs.free[last]
	labs.free = labs.free[:last]
	t.Cleanup(func() {
		labs.Lock()
		defer labs.Unlock()
		labs.free = append(labs.free, l)
	})
	return l
}

// TestForgeries commits each forgery at a leaf of three nodes, where an honest
// agent sees it first, and at the only node of a job, where the launcher does.
// The node that committed it is lost, with nobody else blamed.
func TestForgeries(t *testing.T) {
	needCluster(t)
	for _, f := range Forgeries() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			l := aLab(t)
			t.Run("leaf", func(t *testing.T) {
				l.job(t, f.Name, "n[001-003]", "n002", 2).isBlamed(t, f, "n002", "n001", "n003")
			})
			if f.Root {
				t.Run("root", func(t *testing.T) {
					l.job(t, f.Name, "n001", "n001", 1).isBlamed(t, f, "n001") // it lies about hosts that are not
				})
			}
		})
	}
}

// TestSignings tries to get each log-in that a node has no business with; the
// outsider's own sshd tells whether it did.
func TestSignings(t *testing.T) {
	needCluster(t)
	hosts := map[string]struct{ list, fake string }{
		"sign: a host outside of the job, as its own": {"n[001-002]", "n002"},
		"sign: another host of the range":             {"n001,n002,n004", "n001"},
	}
	for _, f := range Signings() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			l := aLab(t)
			place, ok := hosts[f.Name]
			if !ok {
				place.list, place.fake = "n[001-002]", "n001"
			}
			before := l.logIns(t, "n004")
			r := l.job(t, f.Name, place.list, place.fake, 2)
			require.Equal(t, before, l.logIns(t, "n004"), "log-ins to n004\n%s\n%s", r.log, r.stderr)
			require.NotContains(t, r.log, "signed twice")
			if f.Name == "sign: a session twice" {
				require.Contains(t, r.log, "\nlogged in to "+l.addr(t, "n002"), "its own range is its own")
				return
			}
			require.NotContains(t, r.log, "\nlogged in")
			require.Contains(t, r.log, "not logged in to "+l.addr(t, "n004"), "the fake has tried")
		})
	}
}

// logIns counts the logins to a node.
func (l lab) logIns(t *testing.T, node string) int {
	log, err := os.ReadFile(l.SSHLog(node))
	require.NoError(t, err)
	return strings.Count(string(log), "Accepted publickey")
}

func (l lab) addr(t *testing.T, node string) string {
	n, err := l.Node(node)
	require.NoError(t, err)
	return n.Addr.String()
}

// result is the end of a job with a fake in it.
type result struct {
	code        int
	stderr, log string
	mib         map[string]float64 // highest resident size
}

// job runs two ranks per host while one host is a fake, with words of golaunch's own or
// those of a job that ends at once. It fails the test where
// golaunch hangs, leaves something, or takes too much memory.
func (l lab) job(t *testing.T, forgery, hosts, fake string, other int, words ...string) result {
	t.Helper()
	held, err := trial.Inventory(l.Cluster)
	require.NoError(t, err)
	restore, err := Install(l.Cluster, fake, l.shell, Order{Forgery: forgery, Other: other, Outsider: l.addr(t, "n004")})
	require.NoError(t, err)
	if len(words) == 0 {
		words = []string{"--degree", "2", "hostname"}
	}
	argv := append([]string{l.golaunch, "-H", hosts, "--ssh-config", l.SSHConfig(), "-N", "2", "--oversubscribe",
		"--connect-timeout", "10s"}, words...)
	j, err := trial.Start(l.Cluster, argv, nil, func(string) bool { return true })
	require.NoError(t, err)
	peaks, err := trial.Watch(l.Cluster)
	require.NoError(t, err)
	code, hang := j.End(limit)
	ended := time.Now()
	r := result{code: code, stderr: j.Stderr.String(), mib: peaks.End()}
	if u, ok := j.Cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.mib["golaunch"] = float64(u.Maxrss) / 1024
	}
	_, _, left := j.AwaitNothing(ended, limit)
	log, err := restore()
	r.log = "\n" + log
	t.Logf("exit status %d, MiB %v\n%sThe fake: %s", code, r.mib, r.stderr, log)
	require.NoError(t, err)
	require.Contains(t, r.log, "\ncommits it\n")
	require.NoError(t, hang)
	if left != nil {
		require.NoError(t, j.Clear())
	}
	require.NoError(t, left)
	require.NoError(t, trial.AwaitNothingHeld(l.Cluster, held, ended, limit))
	for what, mib := range r.mib {
		require.LessOrEqual(t, mib, float64(memoryLimit), "MiB that %s took", what)
	}
	return r
}

// isBlamed wants the job to have failed, and the forger named as the cause, if it
// can be, and nobody else. The innocent are mentioned where it is told what the forger
// says, if at all.
func (r result) isBlamed(t *testing.T, f Forgery, forger string, innocent ...string) {
	t.Helper()
	require.Equal(t, job.ExitLauncher, r.code)
	if !f.Sum {
		require.Regexp(t, `(?m)^golaunch: +host `+forger+`(?: \(ranks? [^)]*\))?: `, r.stderr)
	}
	require.Subset(t, []string{forger}, blamed(r.stderr))
	r.namesOnly(t, forger, innocent...)
}

// namesOnly wants hosts to be named, and the innocent in lines about the forger alone.
func (r result) namesOnly(t *testing.T, forger string, innocent ...string) {
	t.Helper()
	about := regexp.MustCompile(`^golaunch: +host ` + forger + `\b`)
	for line := range strings.Lines(r.stderr) {
		for _, host := range innocent {
			if regexp.MustCompile(`\b` + host + `\b`).MatchString(line) {
				require.Regexp(t, about, line)
			}
		}
	}
	require.NotRegexp(t, `\b(host|node) -?\d`, r.stderr, "names, not numbers")
	require.NotContains(t, r.stderr, "panic")
}

// blame is the beginning of golaunch's lines about the fault of a host, or of a rank
// there.
var blame = regexp.MustCompile(`(?m)^golaunch: +(?:then )?(?:hosts? (.+?)(?: \(ranks? [^)]*\))?:|rank \S+ on (.+?) (?:\(pid|called|was|exited|broke|failed))`)

// blamed lists the hosts that golaunch says something went wrong on, each as often
// as it does. A host that is none of the job is "this machine" to it.
func blamed(stderr string) []string {
	var hosts []string
	for _, m := range blame.FindAllStringSubmatch(stderr, -1) {
		hosts = append(hosts, m[1]+m[2])
	}
	return hosts
}

func TestBlamed(t *testing.T) {
	for line, hosts := range map[string][]string{
		"golaunch: 6 of 8 ranks ended well, and no agent says why the others did not\n":                                                   nil,
		"golaunch: host n001 (ranks 0-1): lost: the link to its agent broke: protocol error: message \"failure\": n002 is not below it\n": {"n001"},
		"golaunch: host n001: running: link lost\ngolaunch: then host this machine: running: link to its agent lost\n":                    {"n001", "this machine"},
		"golaunch: 1 of 1 hosts could not be started:\ngolaunch:   hosts n[002-003]: connect: refused\n":                                  {"n[002-003]"},
		"golaunch: rank 2 on this machine exited with code 7, running\ngolaunch: then rank 1:3 on n002 (pid 7) was killed":                {"this machine", "n002"},
	} {
		require.Equal(t, hosts, blamed(line), line)
	}
}

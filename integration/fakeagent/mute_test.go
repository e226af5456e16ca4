package fakeagent

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/trial"
	"github.com/golaunch/golaunch/internal/job"
)

const (
	atOnce = 6                // jobs that run at a time: mostly they wait
	within = 45 * time.Second // of --timeout, and of a signal, on a busy machine
	chain  = "n[001-003]"     // with degree 1: n001 above n002 above n003
	over   = "8"              // seconds of --timeout: less than what counts as a loss
)

// trialOf is a job with a fake in it that is to end by itself, or is told to.
type trialOf struct {
	forgery     Forgery
	hosts, fake string
	degree      string
	options     []string
	signal      syscall.Signal // that golaunch gets, 0 for none

	err    error
	code   int
	took   time.Duration // from its beginning, or the signal, to its end
	stderr string
	log    string
}

func (x *trialOf) name() string {
	return fmt.Sprintf("%s, at %s, %v %v", x.forgery.Name, x.fake, x.options, x.signal)
}

// runAll runs trials, some at a time, each in a lab of its own.
func runAll(t *testing.T, trials []*trialOf) {
	t.Helper()
	next := make(chan *trialOf)
	var workers sync.WaitGroup
	for range min(atOnce, len(trials)) {
		l := aLab(t)
		workers.Go(func() {
			for x := range next {
				x.err = x.run(l)
				t.Logf("%s: exit status %d after %v\n%sThe fake: %s", x.name(), x.code, x.took, x.stderr, x.log)
			}
		})
	}
	for _, x := range trials {
		next <- x
	}
	close(next)
	workers.Wait()
}

// run runs a job of two ranks per host that would run for long.
func (x *trialOf) run(l lab) error {
	outsider, err := l.Node("n004")
	if err != nil {
		return err
	}
	restore, err := Install(l.Cluster, x.fake, l.shell, Order{Forgery: x.forgery.Name, Other: 2, Outsider: outsider.Addr.String()})
	if err != nil {
		return err
	}
	argv := append([]string{
		l.golaunch, "-H", x.hosts, "--ssh-config", l.SSHConfig(), "-N", "2", "--oversubscribe",
		"--degree", x.degree, "--connect-timeout", "10s",
	}, x.options...)
	argv = append(argv, "sh", "-c", `trap "" INT; echo up; exec sleep 1000`)
	begin := time.Now()
	j, err := trial.Start(l.Cluster, argv, nil, func(line string) bool { return strings.Contains(line, "up") })
	if err != nil {
		return err
	}
	if x.signal != 0 {
		begin, err = x.tell(l, j)
	}
	var hang error
	x.code, hang = j.End(limit)
	x.took = time.Since(begin)
	ended := time.Now()
	x.stderr = j.Stderr.String()
	_, _, left := j.AwaitNothing(ended, limit)
	if left != nil {
		_ = j.Clear()
	}
	log, restored := restore()
	x.log = "\n" + log
	return errors.Join(err, hang, left, restored)
}

// tell signals golaunch once the fake is mute, or ranks run, and returns when.
func (x *trialOf) tell(l lab, j *trial.Job) (time.Time, error) {
	if x.forgery.at >= killed {
		if err := j.Await(); err != nil {
			return time.Now(), err
		}
	} else if err := awaitCommit(l, x.fake); err != nil {
		return time.Now(), err
	}
	begin := time.Now()
	if err := j.Cmd.Signal(x.signal); err != nil {
		return begin, err
	}
	if x.signal == syscall.SIGINT && x.forgery.at > up { // ranks may live through one
		time.Sleep(1500 * time.Millisecond) //nolint:forbidigo // sooner a second one is the same demand
		return begin, j.Cmd.Signal(x.signal)
	}
	return begin, nil
}

// awaitCommit waits until the fake has begun its forgery.
func awaitCommit(l lab, node string) error {
	if cluster.Eventually(limit, func() bool {
		out, _ := l.Command(node, "cat", logFile).Output()
		return strings.Contains(string(out), "commits it")
	}) {
		return nil
	}
	return fmt.Errorf("%s: the fake has committed nothing", node)
}

// TestMute has agents fall silent, each at another moment and place of a chain of three.
// golaunch ends all the same, soon, leaves nothing, and names who was silent and nobody
// else.
func TestMute(t *testing.T) {
	needCluster(t)
	var trials []*trialOf
	add := func(f Forgery, fake string, signal syscall.Signal, options ...string) {
		trials = append(trials, &trialOf{forgery: f, hosts: chain, fake: fake, degree: "1", signal: signal, options: options})
	}
	for _, f := range Mutes() {
		options := []string{"--timeout", over}
		if f.at == asked {
			options = append(options, "--stats")
		}
		for _, fake := range []string{"n001", "n002", "n003"} {
			add(f, fake, 0, options...)
		}
		if f.at == ranged || f.at == launched {
			add(f, "n002", syscall.SIGTERM)
			add(f, "n002", syscall.SIGINT)
		}
		if f.at == killed {
			add(f, "n003", syscall.SIGTERM)
			add(f, "n003", syscall.SIGTERM, "--keep-going", "--allow-dead-nodes")
			add(f, "n003", syscall.SIGINT)
		}
	}
	runAll(t, trials)
	status := map[syscall.Signal]int{0: job.ExitTimeout, syscall.SIGTERM: job.ExitTERM, syscall.SIGINT: job.ExitINT}
	for _, x := range trials {
		t.Run(x.name(), func(t *testing.T) {
			require.NoError(t, x.err)
			require.Contains(t, x.log, "\ncommits it\n")
			require.Equal(t, status[x.signal], x.code)
			require.Less(t, x.took, within)
			require.Regexp(t, `(?m)^golaunch: host `+x.fake+`: silent: `, x.stderr)
			require.Equal(t, []string{x.fake}, blamed(x.stderr))
		})
	}
}

// TestForgeriesEndInTime commits each forgery in a job that is to end after some seconds:
// whatever an agent says, or does not, it ends soon after that at the latest.
func TestForgeriesEndInTime(t *testing.T) {
	needCluster(t)
	var trials []*trialOf
	for _, f := range Forgeries() {
		trials = append(trials, &trialOf{forgery: f, hosts: chain, fake: "n002", degree: "2", options: []string{"--timeout", over}})
	}
	runAll(t, trials)
	for _, x := range trials {
		t.Run(x.name(), func(t *testing.T) {
			require.NoError(t, x.err)
			require.Contains(t, x.log, "\ncommits it\n")
			require.Contains(t, []int{job.ExitTimeout, job.ExitLauncher}, x.code)
			require.Less(t, x.took, within)
			if !x.forgery.Sum {
				require.Regexp(t, `(?m)^golaunch: .*\bn002\b`, x.stderr)
			}
			require.Subset(t, []string{"n002"}, blamed(x.stderr))
			rest := regexp.MustCompile(`(?m)^golaunch: at that time: .*\n`).ReplaceAllString(x.stderr, "") // of everybody
			result{stderr: rest}.namesOnly(t, "n002", "n001", "n003")
		})
	}
}

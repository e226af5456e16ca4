package bulk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/programs"
	"github.com/golaunch/golaunch/internal/agent"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher"
)

const (
	// launcherWord makes the test binary golaunch: launcherWord SETTING.
	launcherWord = "bulk-test-launcher"
	// markVariable is in the environment of all that belongs to one job.
	markVariable = "GOLAUNCH_BULK_TEST"
	// limit bounds every wait.
	limit = 3 * time.Minute
)

// built holds the native programs.
var built string

func TestMain(m *testing.M) {
	registry.Add((&bootstraptest.Bulk{}).Kind()) // agents look for it, too
	switch {
	case overlay.IsAgent(os.Args[1:]):
		os.Exit(agent.Main(os.Args[1:]))
	case len(os.Args) == 3 && os.Args[1] == launcherWord:
		os.Exit(launch(os.Args[2]))
	}
	var err error
	if built, err = programs.Make(); err != nil {
		fmt.Fprintln(os.Stderr, "bulk: build what the tests run:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// setting is a job.
type setting struct {
	Hosts     []string
	Ranks     int // 0 for one per host
	Degree    int
	Allow     bool          // --allow-dead-nodes
	Connect   time.Duration // 0 for a minute
	LostAfter time.Duration // 0 for a minute: losses show by the end of connections
	// Script runs in a shell before each agent, which it knows the host of as $h.
	Script  string
	Program []string
}

// names are hosts.
func names(n int) (hosts []string) {
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("h%d", i))
	}
	return hosts
}

// scripted is a manager that has a shell on each host start the command.
type scripted struct {
	bootstraptest.Bulk
	script string
}

func (s *scripted) Start(ctx context.Context, hosts []bootstrap.Host, argv []string, secret io.Reader) (<-chan *bootstrap.Error, error) {
	line := `h=$` + bootstraptest.HostVariable + `; ` + s.script + ` exec "$@"`
	return s.Bulk.Start(ctx, hosts, append([]string{"/bin/sh", "-c", line, "sh"}, argv...), secret)
}

// launch is golaunch in a process of its own.
func launch(text string) int {
	var s setting
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return job.ExitUsage
	}
	kind := (&bootstraptest.Bulk{}).Kind()
	kind.Name = "scripted"
	open := kind.Open
	kind.Open = func(ctx context.Context, j bootstrap.Job) (*bootstrap.Opened, error) {
		opened, err := open(ctx, j)
		opened.Bulk = &scripted{script: s.Script}
		return opened, err
	}
	registry.Add(kind)
	o := launcher.DefaultOptions()
	o.Boot.Bootstrap = kind.Name
	for _, name := range s.Hosts {
		o.Hosts.List = append(o.Hosts.List, job.Host{Name: name, Pos: "the test"})
	}
	o.Programs.Apps = []job.App{{N: s.Ranks, Argv: s.Program}}
	o.Programs.Dir, o.Programs.Env, o.Input.Stdin = "/", []string{"PATH=" + os.Getenv("PATH"), markVariable + "=" + os.Getenv(markVariable)}, launcher.StdinNone
	o.Tree.Degree, o.Hosts.AllowDeadNodes, o.Output.Label = s.Degree, s.Allow, launcher.LabelRank
	o.Start.ConnectTimeout, o.Start.LostAfter = time.Minute, time.Minute
	if s.Connect > 0 {
		o.Start.ConnectTimeout = s.Connect
	}
	if s.LostAfter > 0 {
		o.Start.LostAfter = s.LostAfter
	}
	return launcher.Run(context.Background(), o, launcher.IO{Stdout: os.Stdout, Stderr: os.Stderr})
}

// running is a job that was started.
type running struct {
	t              *testing.T
	mark           string
	cmd            *exec.Cmd
	stdout, stderr lockedBuffer
}

// lockedBuffer can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts a job, of which nothing is left when the test ends.
func start(t *testing.T, s setting) *running {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	r := &running{t: t, mark: fmt.Sprintf("%d.%s", os.Getpid(), t.Name())}
	r.cmd = exec.Command(os.Args[0], launcherWord, string(text))
	r.cmd.Env = append(os.Environ(), markVariable+"="+r.mark)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.WaitDelay = limit
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it has ended, unless the test failed
		for _, p := range r.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
	return r
}

// wait returns the exit status. A launcher and agents that take too long say what
// they are at.
func (r *running) wait() int {
	r.t.Helper()
	ended := time.AfterFunc(limit, func() {
		for _, p := range r.processes() {
			r.t.Log(p.host, p.pid, p.args)
			_ = syscall.Kill(p.pid, syscall.SIGABRT)
		}
		_ = r.cmd.Process.Signal(syscall.SIGABRT)
	})
	defer ended.Stop()
	_ = r.cmd.Wait() // the status is in ProcessState
	return r.cmd.ProcessState.ExitCode()
}

// lines are those of standard output.
func (r *running) lines() []string {
	return strings.Split(strings.TrimSuffix(r.stdout.String(), "\n"), "\n")
}

// eventually waits for something.
func (r *running) eventually(goal string, reached func() bool) {
	r.t.Helper()
	require.Eventually(r.t, reached, limit, 5*time.Millisecond, "%s; golaunch says: %s", goal, &r.stderr)
}

package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// patience bounds every wait of the tests; nothing takes nearly as long.
const patience = 2 * time.Minute

// fixture is a warden and its events.
type fixture struct {
	*Warden
	t       *testing.T
	started map[job.Rank]Started
	failed  map[job.Rank]StartFailed
	exited  map[job.Rank]Exited
	notes   []string
	gone    []Gone
	closed  []job.Number
	beats   int // answers to Beat
	helpers map[int]HelperStarted
	helped  map[int]HelperEnded
	stdout  map[job.Rank]*output
	stderr  map[job.Rank]*output
	stdin   map[job.Rank]*os.File
	pmi     map[job.Rank]*os.File
}

// output collects a rank's output.
type output struct {
	f    *os.File
	mu   sync.Mutex
	text strings.Builder
	done chan struct{}
}

func collect(fd int) *output {
	o := &output{f: os.NewFile(uintptr(fd), "rank"), done: make(chan struct{})}
	go func() { // ends when the rank and its heirs closed it, or close was called
		defer close(o.done)
		buf := make([]byte, 4096)
		for {
			n, err := o.f.Read(buf)
			o.mu.Lock()
			o.text.Write(buf[:n])
			o.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return o
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) close() {
	o.f.Close()
	<-o.done
}

// begin starts a warden that is closed at the end of the test.
func begin(t *testing.T, o Options) *fixture {
	t.Helper()
	if o.JobID == "" {
		o.JobID = "test" + strconv.Itoa(os.Getpid())
	}
	if o.Log == nil {
		o.Log = func(line string) { t.Log("warden:", line) }
	}
	w, err := Start(context.Background(), o)
	require.NoError(t, err)
	f := &fixture{
		Warden: w, t: t,
		started: map[job.Rank]Started{}, failed: map[job.Rank]StartFailed{}, exited: map[job.Rank]Exited{},
		stdout: map[job.Rank]*output{}, stderr: map[job.Rank]*output{},
		stdin: map[job.Rank]*os.File{}, pmi: map[job.Rank]*os.File{},
		helpers: map[int]HelperStarted{}, helped: map[int]HelperEnded{},
	}
	t.Cleanup(f.close)
	require.NoError(t, w.OpenJob(job.Cold))
	return f
}

// Those of the one job that most tests have.

func (f *fixture) Launch(s Spec, ranks []Child) error { return f.Warden.Launch(job.Cold, s, ranks) }
func (f *fixture) Help(h Helper) error                { return f.Warden.Help(job.Cold, h) }
func (f *fixture) Kill(grace time.Duration) error     { return f.Warden.Kill(job.Cold, grace) }
func (f *fixture) Scratch(dirs []string) error        { return f.Warden.Scratch(job.Cold, dirs) }
func (f *fixture) Signal(sig syscall.Signal) error    { return f.Warden.Signal(job.Cold, sig) }

func (f *fixture) SignalWorld(world int, sig syscall.Signal) error {
	return f.Warden.SignalWorld(job.Cold, world, sig)
}

func (f *fixture) close() {
	f.Close()
	for _, h := range f.helpers {
		unix.Close(h.Socket)
	}
	for r := range f.started {
		f.stdout[r].close()
		if f.stderr[r] != nil {
			f.stderr[r].close()
		}
		f.pmi[r].Close()
		if f.stdin[r] != nil {
			f.stdin[r].Close()
		}
	}
}

// launch starts n ranks of one program.
func (f *fixture) launch(n int, argv ...string) {
	f.t.Helper()
	f.launchSpec(Spec{Umask: 0o22, Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: argv}}}, n)
}

func (f *fixture) launchSpec(s Spec, n int) {
	f.t.Helper()
	ranks := make([]Child, n)
	for i := range ranks {
		ranks[i].Rank = job.Rank(i)
	}
	require.NoError(f.t, f.Launch(s, ranks))
}

// shell starts one rank that runs a script.
func (f *fixture) shell(script string) {
	f.t.Helper()
	f.launch(1, "/bin/sh", "-c", script)
}

// step takes the events of one Next. It fails the test where a rank is reported
// twice or out of order.
func (f *fixture) step() error {
	f.t.Helper()
	require.NoError(f.t, f.sock.SetReadDeadline(time.Now().Add(patience)))
	events, err := f.Next()
	for _, e := range events {
		switch e := e.(type) {
		case Started:
			require.NotContains(f.t, f.started, e.Rank)
			f.started[e.Rank] = e
			f.stdout[e.Rank] = collect(e.Stdout)
			if e.Stderr >= 0 {
				f.stderr[e.Rank] = collect(e.Stderr)
			}
			f.pmi[e.Rank] = os.NewFile(uintptr(e.PMI), "pmi")
			if e.Stdin >= 0 {
				f.stdin[e.Rank] = os.NewFile(uintptr(e.Stdin), "stdin")
			}
		case StartFailed:
			require.NotContains(f.t, f.failed, e.Rank)
			require.NotContains(f.t, f.started, e.Rank)
			f.failed[e.Rank] = e
		case Exited:
			require.Contains(f.t, f.started, e.Rank)
			require.NotContains(f.t, f.exited, e.Rank)
			require.Equal(f.t, f.started[e.Rank].PID, e.PID)
			f.exited[e.Rank] = e
		case Note:
			f.notes = append(f.notes, e.Text)
		case Gone:
			f.gone = append(f.gone, e)
		case JobClosed:
			f.closed = append(f.closed, e.Job)
		case Beat:
			f.beats++
		case HelperStarted:
			require.NotContains(f.t, f.helpers, e.Number)
			f.helpers[e.Number] = e
		case HelperEnded:
			require.NotContains(f.t, f.helped, e.Number)
			require.Equal(f.t, f.helpers[e.Number].PID, e.PID)
			f.helped[e.Number] = e
		}
	}
	return err
}

// until takes events until cond holds.
func (f *fixture) until(goal string, cond func() bool) {
	f.t.Helper()
	for !cond() {
		require.NoError(f.t, f.step(), "waiting for %s", goal)
	}
}

// answers has the warden answer: it has seen by then what had happened before.
func (f *fixture) answers() {
	f.t.Helper()
	before := f.beats
	require.NoError(f.t, f.Beat())
	f.until("an answer", func() bool { return f.beats > before })
}

// ends waits until n ranks have ended or could not be started.
func (f *fixture) ends(n int) {
	f.t.Helper()
	f.until("the end of ranks", func() bool { return len(f.exited)+len(f.failed) == n })
}

// says waits until a rank's output, which the caller knows to come, satisfies
// cond, and returns it.
func (f *fixture) says(r job.Rank, cond func(string) bool) string {
	f.t.Helper()
	f.until("the start", func() bool { return f.stdout[r] != nil })
	require.Eventually(f.t, func() bool { return cond(f.stdout[r].String()) }, patience, time.Millisecond)
	return f.stdout[r].String()
}

// output returns all that a rank that has ended wrote to stdout.
func (f *fixture) output(r job.Rank) string {
	f.t.Helper()
	require.Contains(f.t, f.stdout, r, "rank not started: %+v", f.failed)
	select {
	case <-f.stdout[r].done:
	case <-time.After(patience):
		require.Fail(f.t, "output of a rank stays open")
	}
	return f.stdout[r].String()
}

// finishes has the warden finish and waits for its end.
func (f *fixture) finishes() {
	f.t.Helper()
	require.NoError(f.t, f.Finish())
	for {
		err := f.step()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(f.t, err)
	}
	require.NotEmpty(f.t, f.gone)
	require.Empty(f.t, f.gone[len(f.gone)-1].Text)
	if f.cgroup != "" {
		require.NoDirExists(f.t, f.cgroup)
	}
}

// pids reads process ids from lines of text.
func pids(t *testing.T, text string) []int {
	t.Helper()
	var list []int
	for _, word := range strings.Fields(text) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err)
		list = append(list, pid)
	}
	return list
}

// alive reports whether a process runs; one that waits to be reaped does not.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	p, ok := parseStat(b)
	return ok && !p.dead
}

func requireDead(t *testing.T, list ...int) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, pid := range list {
			if alive(pid) {
				return false
			}
		}
		return true
	}, patience, time.Millisecond, "of %v some live", list)
}

// bothWays runs a test with a cgroup, where one can be made, and without.
func bothWays(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("cgroup", func(t *testing.T) {
		needCgroup(t)
		test(t, Options{})
	})
	t.Run("descent", func(t *testing.T) { test(t, Options{NoCgroup: true}) })
}

// openFiles counts this process's descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

func exitStatus(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }

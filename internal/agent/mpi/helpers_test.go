package mpi

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// withWarden is an agent with a warden of its own, and programs here that use libraries
// whose helpers are scripts.
func withWarden(t *testing.T, scripts map[string]string) (*fakeAgent, *Libraries, *proc.Warden) {
	t.Helper()
	a, l := newFake(t)
	w, err := proc.Start(t.Context(), proc.Options{JobID: "pmix" + strconv.Itoa(os.Getpid())})
	require.NoError(t, err)
	require.NoError(t, w.OpenJob(job.Cold))
	t.Cleanup(func() {
		w.Close()
		for _, dir := range a.scratch { // as the agent does in the end
			_ = unix.RemoveTree(dir)
		}
	})
	a.help = func(h proc.Helper) error { return w.Help(job.Cold, h) }
	a.remove = func(dirs []string) error { return w.Scratch(job.Cold, dirs) }
	for library, script := range scripts {
		l.Helpers.plans[library] = helperPlan{library: library, argv: []string{"/bin/sh", "-c", script}, env: []string{"PATH=/usr/bin:/bin"}}
	}
	return a, l, w
}

// take has the helpers take what the warden says next; it returns the last end of one.
func take(t *testing.T, p *Helpers, w *proc.Warden) (ended proc.HelperEnded) {
	t.Helper()
	events, err := w.Next()
	require.NoError(t, err)
	for _, e := range events {
		switch e := e.(type) {
		case proc.HelperStarted:
			p.Started(e)
		case proc.HelperEnded:
			ended = e
			p.Ended(e)
		}
	}
	return ended
}

// answer is what Start was answered.
type answer struct {
	fd  int
	err error
}

func start(t *testing.T, p *Helpers, w *proc.Warden, library string) (got *answer) {
	t.Helper()
	p.Start(library, func(fd int, err error) { got = &answer{fd, err} })
	for got == nil {
		take(t, p, w)
	}
	return got
}

// end waits for the end of the helper that was started first.
func end(t *testing.T, p *Helpers, w *proc.Warden) string {
	t.Helper()
	h := p.running[1]
	for {
		if ended := take(t, p, w); ended.Number == 1 {
			return h.epitaph(ended)
		}
	}
}

// A helper and the agent talk; its last words say why it has ended.
func TestHelperRunsAndEnds(t *testing.T) {
	_, l, w := withWarden(t, map[string]string{"libpmix": `read line <&3; echo "got $line" >&3; echo "libpmix is too old" >&2; echo "give another" >&2; exit 3`})
	got := start(t, l.Helpers, w, "libpmix")
	require.NoError(t, got.err)
	defer unix.Close(got.fd)
	_, err := unix.TrySend(got.fd, []byte("this\n"))
	require.NoError(t, err)
	require.Regexp(t, `^pid \d+ exited with code 3: libpmix is too old; give another$`, end(t, l.Helpers, w))
	var said [64]byte
	n, err := unix.TryRecv(got.fd, said[:])
	require.NoError(t, err)
	require.Equal(t, "got this\n", string(said[:n]))
	require.Empty(t, l.Helpers.running)
}

// What a helper goes on to say, only the last is kept of.
func TestHelpersWordsAreBounded(t *testing.T) {
	a, l, w := withWarden(t, map[string]string{"libpmix": `i=0; while [ $i -lt 900 ]; do i=$((i+1)); echo "line $i of many that nobody wants"; done; kill -9 $$`})
	got := start(t, l.Helpers, w, "libpmix")
	require.NoError(t, got.err)
	defer unix.Close(got.fd)
	h := l.Helpers.running[1]
	buf := make([]byte, 512)
	ready := make([]unix.Ready, 1)
	for h.output >= 0 {
		_, err := a.poller.Wait(ready, -1)
		require.NoError(t, err)
		a.handlers[int(ready[0].Tag)].Ready(ready[0], buf)
		require.LessOrEqual(t, len(h.said), mostSaid)
	}
	require.Regexp(t, `^pid \d+ was killed by signal 9: line 897 of .*; line 900 of many that nobody wants$`, end(t, l.Helpers, w))
}

func TestHelperThatDoesNotStart(t *testing.T) {
	a, l, w := withWarden(t, nil)
	l.Helpers.plans["gone"] = helperPlan{argv: []string{"/no/such"}}
	require.ErrorContains(t, start(t, l.Helpers, w, "gone").err, "it did not start: program not found: /no/such")
	require.Empty(t, l.Helpers.running)

	var unknown error
	l.Helpers.Start("unheard of", func(_ int, err error) { unknown = err })
	a.turn()
	require.EqualError(t, unknown, "no program here uses unheard of")
}

func TestHelperOfALostWarden(t *testing.T) {
	a, l := newFake(t)
	errGone := errors.New("the warden is lost")
	a.help = func(proc.Helper) error { return errGone }
	l.Helpers.plans["libpmix"] = helperPlan{argv: []string{"/bin/true"}}
	var got error
	l.Helpers.Start("libpmix", func(_ int, err error) { got = err })
	require.NoError(t, got, "later, by an event")
	a.turn()
	require.ErrorIs(t, got, errGone)
}

// Apps with one libpmix share its helper; those without PMIx have none.
func TestLibraryOfAnApp(t *testing.T) {
	_, w, _ := newWorld(t, 1)
	l := w.l
	use := func(library, uses, why string) *appLibrary {
		return &appLibrary{pmix: &pmixUse{uses: uses, why: why, plan: helperPlan{library: library}}}
	}
	w.libraries = map[int]*appLibrary{0: use("/l", "Open MPI 5", ""), 1: use("/l", "--pmix", ""), 2: use("/m", "--pmix", ""), 3: {}, 4: use("/l", "", ""), 5: use("/l", "x", "missing")}
	for app, want := range []string{"/l", "/l", "/m", "", "", "", ""} {
		require.Equal(t, want, l.Helpers.Library(0, app), app)
	}
	require.Empty(t, l.Helpers.Library(1, 0), "a world that is not here")
	require.Len(t, l.Helpers.plans, 2)
}

// The directories are private, each world's in the node's, and go with the warden.
func TestPMIxDirectories(t *testing.T) {
	_, l, w := withWarden(t, nil)
	own, err := l.Helpers.Dir("")
	require.NoError(t, err)
	first, err := l.Helpers.Dir("kvs_1_0")
	require.NoError(t, err)
	again, err := l.Helpers.Dir("kvs_1_0")
	require.NoError(t, err)
	require.Equal(t, first, again)
	second, err := l.Helpers.Dir("kvs_1_1")
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	for _, dir := range []string{own, first, second} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.ModeDir|0o700, info.Mode())
	}
	require.Equal(t, own, filepath.Dir(first))
	for _, bad := range []string{"..", ".", "a/b", "a\x00"} {
		_, err := l.Helpers.Dir(bad)
		require.ErrorContains(t, err, "cannot name a directory", bad)
	}
	require.NoError(t, os.WriteFile(filepath.Join(second, "segment"), nil, 0o600))
	require.NoError(t, w.Finish())
	for err := error(nil); err == nil; {
		_, err = w.Next()
	}
	require.NoDirExists(t, own)
}

// Open MPI's shared files are in the world's directory, unless the user has them
// elsewhere; what a spawning world's ranks have handed on counts for nothing.
func TestPMIxEnvironment(t *testing.T) {
	a, l, _ := withWarden(t, nil)
	a.oneMachine = true
	view := &serve.World{Node: a, Launch: &overlay.Launch{}, World: overlay.World{KVSName: "child", Size: 1}, Ranks: []*serve.Rank{{}}}
	world := l.World(view, &fakeRanks{view: view}, nil)
	env := func(own ...string) []string {
		world.view.Apps = []job.App{{Argv: []string{"app"}, Env: own}}
		world.libraries = map[int]*appLibrary{0: {pmix: &pmixUse{uses: "--pmix", four: true}}}
		return world.Env(0)
	}
	parent, err := l.Helpers.Dir("parent")
	require.NoError(t, err)
	if !isMemory(parent) {
		t.Skip("no directory in memory for the job's files: /dev/shm is none or full")
	}
	child, err := l.Helpers.Dir("child")
	child += sharedEnd
	require.NoError(t, err)
	got := env("OMPI_MCA_btl_vader_backing_directory="+parent, "OMPI_MCA_osc_sm_backing_directory=/mine")
	require.Equal(t, []string{
		"OMPI_MCA_btl_vader_backing_directory=" + parent, "OMPI_MCA_osc_sm_backing_directory=/mine", "FLUX_JOB_ID=1",
		"OMPI_MCA_btl_tcp_if_include=lo",
		"OMPI_MCA_btl_vader_backing_directory=" + child, "OMPI_MCA_btl_sm_backing_directory=" + child, "OMPI_MCA_osc_rdma_backing_directory=" + child,
	}, got)
	require.NotContains(t, env("OMPI_MCA_btl_tcp_if_exclude=eth7"), "OMPI_MCA_btl_tcp_if_include=lo")
	require.NotContains(t, env("OMPI_MCA_btl_tcp_if_include=eth7"), "OMPI_MCA_btl_tcp_if_include=lo")
	a.oneMachine = false
	require.NotContains(t, env(), "OMPI_MCA_btl_tcp_if_include=lo")
}

// A job without the helper's executable says what to do.
func TestHelperThatWasNotBuilt(t *testing.T) {
	_, w, _ := newWorld(t, 1)
	_, why := w.library(overlay.PMIxHelper, &appLibrary{})
	require.Equal(t, "golaunch-pmix was not found beside golaunch, in lib/golaunch; build it with make build", why)
}

// The directories of a world go when it is over, those of others stay.
func TestPMIxDirectoriesOfAWorldThatIsOver(t *testing.T) {
	_, l, _ := withWarden(t, nil)
	kept, err := l.Helpers.Dir("kept")
	require.NoError(t, err)
	var gone []string
	for _, name := range []string{"over", "over" + sharedEnd} {
		dir, err := l.Helpers.Dir(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "segment"), nil, 0o600))
		gone = append(gone, dir)
	}
	l.Helpers.Forget("over")
	for _, bad := range []string{"", ".", "../" + filepath.Base(l.Helpers.dir)} {
		l.Helpers.Forget(bad)
	}
	require.DirExists(t, kept)
	for _, dir := range gone {
		require.Eventually(t, func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) }, time.Minute, time.Millisecond)
	}
}

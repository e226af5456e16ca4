package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// withWarden is an agent with a warden of its own, and programs here that use libraries
// whose helpers are scripts.
func withWarden(t *testing.T, scripts map[string]string) *Agent {
	t.Helper()
	a, _, _ := agentOf(t, nil)
	w, err := proc.Start(t.Context(), proc.Options{JobID: "pmix" + strconv.Itoa(os.Getpid())})
	require.NoError(t, err)
	require.NoError(t, w.OpenJob(job.Cold))
	t.Cleanup(func() {
		w.Close()
		for _, dir := range a.scratchDirs { // as the agent does in the end
			_ = unix.RemoveTree(dir)
		}
	})
	poller, err := unix.NewPoller()
	require.NoError(t, err)
	t.Cleanup(func() { poller.Close() })
	a.warden, a.poller, a.descriptors = w, poller, newDescriptors(poller)
	a.common.JobID, a.launch.Nodes = "job"+strconv.Itoa(os.Getpid()), []job.HostIndex{0}
	for library, script := range scripts {
		a.helpers.plans[library] = helperPlan{library: library, argv: []string{"/bin/sh", "-c", script}, env: []string{"PATH=/usr/bin:/bin"}}
	}
	return a
}

// step has the agent take what its warden says next.
func step(t *testing.T, a *Agent) {
	t.Helper()
	events, err := a.warden.Next()
	require.NoError(t, err)
	a.wardenEvents(events)
}

// answer is what Start was answered.
type answer struct {
	fd  int
	err error
}

func start(t *testing.T, a *Agent, library string) (got *answer) {
	t.Helper()
	a.helpers.Start(library, func(fd int, err error) { got = &answer{fd, err} })
	for got == nil {
		step(t, a)
	}
	return got
}

// end waits for the end of the helper that was started first.
func (p *pmixHelpers) end(t *testing.T) (text string) {
	t.Helper()
	h := p.started[1]
	for p.started[1] != nil {
		events, err := p.a.warden.Next()
		require.NoError(t, err)
		for _, e := range events {
			p.a.wardenEvents([]proc.Event{e})
			if ended, ok := e.(proc.HelperEnded); ok {
				text = h.epitaph(ended)
			}
		}
	}
	return text
}

// A helper and the agent talk; its last words say why it has ended.
func TestHelperRunsAndEnds(t *testing.T) {
	a := withWarden(t, map[string]string{"libpmix": `read line <&3; echo "got $line" >&3; echo "libpmix is too old" >&2; echo "give another" >&2; exit 3`})
	got := start(t, a, "libpmix")
	require.NoError(t, got.err)
	defer unix.Close(got.fd)
	_, err := unix.TrySend(got.fd, []byte("this\n"))
	require.NoError(t, err)
	require.Regexp(t, `^pid \d+ exited with code 3: libpmix is too old; give another$`, a.helpers.end(t))
	var said [64]byte
	n, err := unix.TryRecv(got.fd, said[:])
	require.NoError(t, err)
	require.Equal(t, "got this\n", string(said[:n]))
	require.Empty(t, a.helpers.started)
}

// What a helper goes on to say, only the last is kept of.
func TestHelpersWordsAreBounded(t *testing.T) {
	a := withWarden(t, map[string]string{"libpmix": `i=0; while [ $i -lt 900 ]; do i=$((i+1)); echo "line $i of many that nobody wants"; done; kill -9 $$`})
	got := start(t, a, "libpmix")
	require.NoError(t, got.err)
	defer unix.Close(got.fd)
	h := a.helpers.started[1]
	buf := make([]byte, 512)
	ready := make([]unix.Ready, 1)
	for h.output >= 0 {
		_, err := a.poller.Wait(ready, -1)
		require.NoError(t, err)
		a.descriptors.ready(ready[0], buf)
		require.LessOrEqual(t, len(h.said), mostSaid)
	}
	require.Regexp(t, `^pid \d+ was killed by signal 9: line 897 of .*; line 900 of many that nobody wants$`, a.helpers.end(t))
}

func TestHelperThatDoesNotStart(t *testing.T) {
	a := withWarden(t, nil)
	a.helpers.plans["gone"] = helperPlan{argv: []string{"/no/such"}}
	require.ErrorContains(t, start(t, a, "gone").err, "it did not start: program not found: /no/such")
	require.Empty(t, a.helpers.started)

	var unknown error
	a.helpers.Start("unheard of", func(_ int, err error) { unknown = err })
	for _, e := range a.inbox.Take(nil) {
		e.(posted)()
	}
	require.EqualError(t, unknown, "no program here uses unheard of")
}

// deafWarden takes no helper.
type deafWarden struct{ Warden }

func (deafWarden) Help(job.Number, proc.Helper) error { return errGone }

func TestHelperOfALostWarden(t *testing.T) {
	a, _, _ := agentOf(t, deafWarden{})
	a.helpers.plans["libpmix"] = helperPlan{argv: []string{"/bin/true"}}
	var got error
	a.helpers.Start("libpmix", func(_ int, err error) { got = err })
	require.NoError(t, got, "later, by an event")
	for _, e := range a.inbox.Take(nil) {
		e.(posted)()
	}
	require.ErrorIs(t, got, errGone)
}

// Apps with one libpmix share its helper; those without PMIx have none.
func TestLibraryOfAnApp(t *testing.T) {
	a, w, _ := agentOf(t, nil)
	use := func(library, uses, why string) *appLibrary {
		return &appLibrary{pmix: &pmixUse{known: true, uses: uses, why: why, plan: helperPlan{library: library}}}
	}
	w.libraries = map[int]*appLibrary{0: use("/l", "Open MPI 5", ""), 1: use("/l", "--pmix", ""), 2: use("/m", "--pmix", ""), 3: {}, 4: use("/l", "", ""), 5: use("/l", "x", "missing")}
	for app, want := range []string{"/l", "/l", "/m", "", "", "", ""} {
		require.Equal(t, want, a.helpers.Library(0, app), app)
	}
	require.Empty(t, a.helpers.Library(1, 0), "a world that is not here")
	require.Len(t, a.helpers.plans, 2)
}

// The directories are private, each world's in the node's, and go with the warden.
func TestPMIxDirectories(t *testing.T) {
	a := withWarden(t, nil)
	own, err := a.helpers.Dir("")
	require.NoError(t, err)
	first, err := a.helpers.Dir("kvs_1_0")
	require.NoError(t, err)
	again, err := a.helpers.Dir("kvs_1_0")
	require.NoError(t, err)
	require.Equal(t, first, again)
	second, err := a.helpers.Dir("kvs_1_1")
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	for _, dir := range []string{own, first, second} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.ModeDir|0o700, info.Mode())
	}
	require.Equal(t, own, filepath.Dir(first))
	for _, bad := range []string{"..", ".", "a/b", "a\x00"} {
		_, err := a.helpers.Dir(bad)
		require.ErrorContains(t, err, "cannot name a directory", bad)
	}
	require.NoError(t, os.WriteFile(filepath.Join(second, "segment"), nil, 0o600))
	require.NoError(t, a.warden.Finish())
	for err := error(nil); err == nil; {
		_, err = a.warden.Next()
	}
	require.NoDirExists(t, own)
}

// Open MPI's shared files are in the world's directory, unless the user has them
// elsewhere; what a spawning world's ranks have handed on counts for nothing.
func TestPMIxEnvironment(t *testing.T) {
	a := withWarden(t, nil)
	a.common.Bootstrap = "fork"
	env := func(w *world, own ...string) []string {
		w.Apps = []job.App{{Argv: []string{"app"}, Env: own}}
		w.libraries = map[int]*appLibrary{0: {pmix: &pmixUse{known: true, uses: "--pmix", four: true}}}
		return a.libraryEnv(w, 0)
	}
	parent, err := a.helpers.Dir("parent")
	require.NoError(t, err)
	if !isMemory(parent) {
		t.Skip("no directory in memory for the job's files: /dev/shm is none or full")
	}
	w := a.worlds[0]
	w.KVSName = "child"
	child, err := a.helpers.Dir("child")
	child += sharedEnd
	require.NoError(t, err)
	got := env(w, "OMPI_MCA_btl_vader_backing_directory="+parent, "OMPI_MCA_osc_sm_backing_directory=/mine")
	require.Equal(t, []string{
		"OMPI_MCA_btl_vader_backing_directory=" + parent, "OMPI_MCA_osc_sm_backing_directory=/mine", "FLUX_JOB_ID=1",
		"OMPI_MCA_btl_tcp_if_include=lo",
		"OMPI_MCA_btl_vader_backing_directory=" + child, "OMPI_MCA_btl_sm_backing_directory=" + child, "OMPI_MCA_osc_rdma_backing_directory=" + child,
	}, got)
	require.NotContains(t, env(w, "OMPI_MCA_btl_tcp_if_exclude=eth7"), "OMPI_MCA_btl_tcp_if_include=lo")
	require.NotContains(t, env(w, "OMPI_MCA_btl_tcp_if_include=eth7"), "OMPI_MCA_btl_tcp_if_include=lo")
	a.common.Bootstrap = "ssh"
	require.NotContains(t, env(w), "OMPI_MCA_btl_tcp_if_include=lo")
}

// A job without the helper's executable says what to do.
func TestHelperThatWasNotBuilt(t *testing.T) {
	a, _, _ := agentOf(t, nil)
	_, why := a.library(overlay.PMIxHelper, &appLibrary{})
	require.Equal(t, "golaunch-pmix was not found beside golaunch, in lib/golaunch; build it with make build", why)
}

// The directories of a world go when it is over, those of others stay.
func TestPMIxDirectoriesOfAWorldThatIsOver(t *testing.T) {
	a := withWarden(t, nil)
	kept, err := a.helpers.Dir("kept")
	require.NoError(t, err)
	var gone []string
	for _, name := range []string{"over", "over" + sharedEnd} {
		dir, err := a.helpers.Dir(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "segment"), nil, 0o600))
		gone = append(gone, dir)
	}
	a.helpers.Forget("over")
	for _, bad := range []string{"", ".", "../" + filepath.Base(a.helpers.dir)} {
		a.helpers.Forget(bad)
	}
	require.DirExists(t, kept)
	for _, dir := range gone {
		require.Eventually(t, func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) }, time.Minute, time.Millisecond)
	}
}

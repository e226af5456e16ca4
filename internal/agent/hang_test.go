package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

func TestWaitingRanksAreTold(t *testing.T) {
	a, w, said := agentOf(t, lostWarden{})
	w.ranks = nil
	for i, fencing := range []bool{true, false, true} {
		w.ranks = append(w.ranks, &rank{world: w, Rank: serve.Rank{Number: job.Rank(i), Fencing: fencing}})
	}
	e := fenceLong{w, 0}
	a.waitingSeen(waitingSeen{e, "", false}) // of a library that does not hang
	a.waitingSeen(waitingSeen{e, "MPICH", true})
	w.unwatchFence()
	a.waitingSeen(waitingSeen{e, "too late", false})
	a.end.KillOrdered(0)
	a.waitingSeen(waitingSeen{fenceLong{w, 1}, "as good as over", false})
	a.note(0, "the last")
	m := <-said
	require.Equal(t, overlay.KindWaiting, m.Header.Kind)
	told, err := overlay.Decode[overlay.Waiting](m.Body)
	require.NoError(t, err)
	require.Equal(t, overlay.Waiting{Library: "MPICH", Fixed: true, Ranks: []overlay.RankRange{{First: 0, Count: 1}, {First: 2, Count: 1}}}, told)
	require.Equal(t, overlay.KindNote, (<-said).Header.Kind)
}

// Fences are watched after MPI_Init's first, one at a time.
func TestWhichFencesAreWatched(t *testing.T) {
	a, w, _ := agentOf(t, lostWarden{})
	a.watchFence(w)
	require.Nil(t, w.waiting)
	w.unwatchFence()
	a.watchFence(w)
	first := w.waiting
	require.NotNil(t, first)
	a.watchFence(w)
	require.Same(t, first, w.waiting)
	w.unwatchFence()
	require.Nil(t, w.waiting)
}

// What a process has loaded tells, also below a script.
func TestLoadedMPICH(t *testing.T) {
	dir := t.TempDir()
	old := mpich(t, filepath.Join(dir, "libmpi.so.12"), "4.0.2", "ch4:ucx")
	program := compile(t, filepath.Join(dir, "program"), "#include <unistd.h>\nint main(void) { char c; write(1, \"x\", 1); return read(0, &c, 1) != 0; }", old)
	cure := library(t, filepath.Join(dir, "libmpichfinalize.so"), "")
	for name, x := range map[string]struct {
		argv []string
		env  string
		want string
		fix  bool
	}{
		"itself":         {[]string{program}, "", "MPICH 4.0.2 (ch4:ucx, " + old + ")", false},
		"below a script": {[]string{"sh", "-c", program + "; true"}, "", "MPICH 4.0.2 (ch4:ucx, " + old + ")", false},
		"with the fix":   {[]string{program}, "LD_PRELOAD=" + cure, "MPICH 4.0.2 (ch4:ucx, " + old + ")", true},
		"another":        {[]string{"sh", "-c", "echo x; read x; exit 0"}, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(x.argv[0], x.argv[1:]...)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, x.env)
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = stdout.Read(make([]byte, 1)) // it runs
			require.NoError(t, err)
			mpich, fixed := loadedHangingMPICH(cmd.Process.Pid)
			require.Equal(t, x.want, mpich)
			require.Equal(t, x.fix, fixed)
			require.NoError(t, stdin.Close())
			require.NoError(t, cmd.Wait())
		})
	}
}

package mpi

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/overlay"
)

func TestWaitingRanksAreTold(t *testing.T) {
	a, w, x := newWorld(t, 3)
	w.view.Ranks[0].Fencing, w.view.Ranks[2].Fencing = true, true
	w.waitingSeen(0, "", false) // of a library that does not hang
	w.waitingSeen(0, "MPICH", true)
	x.fences++
	w.waitingSeen(0, "too late", false)
	x.over = "a rank has ended"
	w.waitingSeen(1, "it cannot complete", false)
	x.over, a.ending = "", true
	w.waitingSeen(1, "as good as over", false)
	require.Equal(t, []overlay.Waiting{{Library: "MPICH", Fixed: true, Ranks: []overlay.RankRange{{First: 0, Count: 1}, {First: 2, Count: 1}}}}, a.waiting)
}

// Fences are watched after MPI_Init's first, one at a time.
func TestWhichFencesAreWatched(t *testing.T) {
	_, w, x := newWorld(t, 1)
	w.FenceEntered()
	require.Nil(t, w.waiting)
	x.fences++
	w.FenceReleased()
	w.FenceEntered()
	first := w.waiting
	require.NotNil(t, first)
	w.FenceEntered()
	require.Same(t, first, w.waiting)
	w.FenceReleased()
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

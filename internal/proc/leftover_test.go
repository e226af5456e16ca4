package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/unix"
)

// A warden's cgroup and the processes in it do not outlast Close, however it ends.
func TestNothingStaysOfAWarden(t *testing.T) {
	needCgroup(t)
	for name, end := range map[string]struct {
		blow func(*fixture)
		code int // of the warden
	}{
		"killed":            {func(f *fixture) { f.Destroy() }, -1},
		"killed and silent": {func(f *fixture) { f.Destroy(); f.greeted, f.cgroup = false, "" }, -1},
		"stopped":           {func(f *fixture) { _ = f.proc.Signal(syscall.SIGSTOP) }, 0},
		"stopped at the end": {func(f *fixture) {
			_ = f.proc.Signal(syscall.SIGSTOP)
			f.finishes()
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t, Options{JobID: "leftover" + strconv.Itoa(os.Getpid())})
			cgroup := f.cgroup
			require.DirExists(t, cgroup)
			f.shell("mkdir " + cgroup + "/below; trap '' TERM; setsid sleep 1000 & echo $! $$; wait")
			ranks := pids(t, f.says(0, lines(1)))
			end.blow(f)
			f.Close()
			require.NoDirExists(t, cgroup)
			requireDead(t, ranks...)
			require.Equal(t, end.code, f.state.ExitCode())
		})
	}
}

// A warden that finds no agent to say hello to leaves no cgroup.
func TestAWardenWithoutAnAgent(t *testing.T) {
	needCgroup(t)
	mine, its, err := unix.PacketPair()
	require.NoError(t, err)
	unix.Close(mine)
	sock := os.NewFile(uintptr(its), "agent")
	defer sock.Close()
	const jobID = "no-agent"
	cmd := exec.Command("/proc/self/exe", WardenWord, jobID, "0s", "50us")
	cmd.ExtraFiles = []*os.File{sock}
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", out)
	require.Contains(t, string(out), "broken pipe", "the hello is what failed")
	own, err := ownCgroup()
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(own, cgroupName(jobID, cmd.Process.Pid)))
}

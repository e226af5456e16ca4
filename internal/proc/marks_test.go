package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// A rank's socket has the highest number that its limit of open files allows, and its own
// variable says which; where there is little room it is 3.
func TestNumberOfTheSocket(t *testing.T) {
	for limit, number := range map[uint64]int{4096: 1008, 1024: 1008, 321: 305, 40: 3} {
		f := begin(t, Options{})
		const script = `test -S /proc/self/fd/$SOCKET && echo $SOCKET`
		f.launchSpec(Spec{
			Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: []string{"/bin/sh", "-c", script}}}, Socket: "SOCKET",
			Rlimits: []Rlimit{{Resource: syscall.RLIMIT_NOFILE, Cur: limit, Max: 4096}},
		}, 2)
		f.ends(2)
		for r := range job.Rank(2) {
			require.Equal(t, fmt.Sprintln(number), f.output(r), "limit %d", limit)
		}
		f.finishes()
	}
}

// A rank that closes its socket and lives on, or whose child holds it open, has ended when
// it is reaped.
func TestTheSocketIsClosedAndTheRankLives(t *testing.T) {
	f := begin(t, Options{})
	const script = `eval "exec $SOCKET>&-"; echo closed; read line`
	spec := Spec{Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: []string{"/bin/bash", "-c", script}}}, Socket: "SOCKET"}
	require.NoError(t, f.Launch(spec, []Child{{StdinPipe: true}}))
	f.says(0, lines(1))
	_, err := f.pmi[0].Read(make([]byte, 1))
	require.Error(t, err, "the end of file that the warden sees, too")
	f.answers() // it has seen it, while the rank lived
	before := unix.Monotonic()
	_, err = f.stdin[0].WriteString("go on\n")
	require.NoError(t, err)
	f.ends(1)
	require.Greater(t, f.exited[0].Clock, before)
	f.finishes()

	f = begin(t, Options{})
	f.shell(`sleep 1000 & echo ready; read line <&- ; exit 4`)
	f.says(0, lines(1))
	f.ends(1)
	require.Equal(t, exitStatus(4), f.exited[0].Status)
	require.Positive(t, f.exited[0].Clock)
	f.finishes()
}

// The end of a child that nobody has reaped yet is known by its socket, also when only
// another process has the other end any more.
func TestEndsAreNotedBeforeTheReap(t *testing.T) {
	runtime.LockOSThread() // whose delays count, as the warden's does
	defer runtime.UnlockOSThread()
	poll, err := unix.NewPoller()
	require.NoError(t, err)
	defer poll.Close()
	m := newMarks(poll)
	mine, its, err := unix.StreamPair()
	require.NoError(t, err)
	child := exec.Command("sleep", "1000")
	file := os.NewFile(uintptr(its), "its")
	child.ExtraFiles = []*os.File{file}
	require.NoError(t, child.Start())
	file.Close()
	require.NoError(t, m.watch(child.Process.Pid, mine))
	agents, err := unix.Dup(mine) // stands for the agent's, which is the same open file
	require.NoError(t, err)
	defer unix.Close(agents)
	unix.Close(mine)

	before := unix.Monotonic()
	require.NoError(t, child.Process.Kill())
	ready := make([]unix.Ready, 4)
	for len(m.ended) == 0 {
		m.sleeps(false)
		n, err := poll.Wait(ready, patience)
		require.NoError(t, err)
		require.Equal(t, 1, n, "nothing else comes")
		m.note(ready[:n])
	}
	noted := unix.Monotonic()
	require.Error(t, child.Wait())
	at := m.take(child.Process.Pid)
	require.LessOrEqual(t, at, noted)
	require.Greater(t, at, before-time.Second) // less what the kernel says that this thread waited
	require.Empty(t, m.ended)
	require.GreaterOrEqual(t, m.take(child.Process.Pid), noted, "of others the reap counts")
}

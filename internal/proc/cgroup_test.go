package proc

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// needCgroup skips where none can be made.
func needCgroup(t *testing.T) {
	t.Helper()
	cg, err := newCgroup(cgroupPrefix("probe") + fmt.Sprint(os.Getpid()))
	if err != nil {
		t.Skip("no cgroup can be made here: ", err)
	}
	cg.close()
	require.NoError(t, removeCgroup(cg.dir))
}

// Wardens that start at once on one host remove each other's cgroups as stale
// in the moment before they are locked; none may keep one that is gone, in
// which nothing can be started.
func TestCgroupsOfManyWardensAtOnce(t *testing.T) {
	needCgroup(t)
	const wardens, times = 8, 40
	var all sync.WaitGroup
	for w := range wardens {
		all.Go(func() {
			for i := range times {
				cg, err := newCgroup(fmt.Sprintf("%s%d-%d-%d", cgroupPrefix("many"), os.Getpid(), w, i))
				if !assert.NoError(t, err) {
					return
				}
				_, err = os.Stat(cg.dir)
				assert.NoError(t, err)
				cg.close()
				_ = syscall.Rmdir(cg.dir) // another may have been first
			}
		})
	}
	all.Wait()
}

func TestACgroupThatIsGoneIsNotTaken(t *testing.T) {
	needCgroup(t)
	own, err := ownCgroup()
	require.NoError(t, err)
	// Of a name that no other warden of this machine takes for a stale one's.
	cg := &cgroup{dir: own + "/gone-" + fmt.Sprint(os.Getpid()), fd: -1}
	require.NoError(t, os.Mkdir(cg.dir, 0o755))
	fd, err := syscall.Open(cg.dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	require.NoError(t, syscall.Rmdir(cg.dir))
	require.ErrorIs(t, cg.open(), errTakenForStale)
	_, err = syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}})
	require.ErrorIs(t, err, syscall.ENOENT, "what the kernel says, and a missing program, too")
}

// A descriptor that is no cgroup's stands for a cgroup in which the kernel lets
// nothing be started: ranks run all the same, but a program that cannot is no
// reason to do without.
func TestRanksStartWithoutAUselessCgroup(t *testing.T) {
	s, err := newSpawner()
	require.NoError(t, err)
	defer syscall.Close(s.startDir)
	j := &wardenJob{id: "useless", cgroupFD: s.devNull}
	defer syscall.Close(s.devNull)
	var out outbox
	pid, err := s.fork(j, "/bin/true", []string{"true"}, &syscall.ProcAttr{}, &out)
	require.NoError(t, err)
	require.Negative(t, j.cgroupFD)
	require.Len(t, out.events, 1)
	require.Contains(t, out.events[0].Text, "no rank can be started in the job's cgroup")
	_, err = syscall.Wait4(pid, nil, 0, nil)
	require.NoError(t, err)

	needCgroup(t)
	cg, err := newCgroup(fmt.Sprint(cgroupPrefix("useful"), os.Getpid()))
	require.NoError(t, err)
	j.cgroupFD = cg.fd
	_, err = s.fork(j, "/no/such", []string{"such"}, &syscall.ProcAttr{}, &out)
	require.ErrorIs(t, err, syscall.ENOENT)
	withoutDescriptors(t, func() { _, err = s.fork(j, "/bin/true", []string{"true"}, &syscall.ProcAttr{}, &out) })
	require.ErrorIs(t, err, syscall.EMFILE, "which is no reason, either")
	require.Equal(t, cg.fd, j.cgroupFD)
	require.Len(t, out.events, 1)
	cg.close()
	require.NoError(t, removeCgroup(cg.dir))
}

// withoutDescriptors calls do while this process can have no further ones. The
// kernel is asked, as syscall.Setrlimit changes what programs started later get.
func withoutDescriptors(t *testing.T, do func()) {
	set := func(limit *syscall.Rlimit, old *syscall.Rlimit) {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(limit)), uintptr(unsafe.Pointer(old)), 0, 0)
		require.Zero(t, errno)
	}
	var old syscall.Rlimit
	set(nil, &old)
	set(&syscall.Rlimit{Cur: 0, Max: old.Max}, nil)
	defer set(&old, nil)
	do()
}

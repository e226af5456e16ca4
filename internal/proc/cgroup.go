package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/cgroups"
	"github.com/golaunch/golaunch/internal/unix"
)

// cgroup is a cgroup v2 of the tree's own, below which those of jobs are, in which ranks
// are started. Killing one is atomic: nothing can fork its way out.
type cgroup struct {
	dir string
	fd  int // of the tree's also holds the lock that tells others that it is in use
}

// newCgroup makes a child of this process's own cgroup, so that nothing leaves
// what a resource manager or systemd put the agent in. The error says why there
// can be none: no cgroup v2 mount, no permission, a kernel before 5.14.
func newCgroup(name string) (*cgroup, error) {
	own, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	removeStale(own)
	for {
		cg := &cgroup{dir: filepath.Join(own, name), fd: -1}
		if err := os.Mkdir(cg.dir, 0o755); err != nil {
			return nil, err
		}
		err := cg.open()
		if err == nil {
			return cg, nil
		}
		cg.close()
		if errors.Is(err, errTakenForStale) {
			continue
		}
		_ = os.Remove(cg.dir)
		return nil, err
	}
}

// errTakenForStale says that another warden removed the cgroup before it was
// locked.
var errTakenForStale = errors.New("the cgroup was removed before it was locked")

func (c *cgroup) open() (err error) {
	switch c.fd, err = syscall.Open(c.dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0); {
	case errors.Is(err, syscall.ENOENT):
		return errTakenForStale
	case err != nil:
		return fmt.Errorf("open %s: %w", c.dir, err)
	}
	if err := syscall.Flock(c.fd, syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", c.dir, err)
	}
	if _, err := os.Stat(c.dir); errors.Is(err, os.ErrNotExist) {
		return errTakenForStale
	}
	if _, err := os.Stat(filepath.Join(c.dir, "cgroup.kill")); err != nil {
		return fmt.Errorf("the kernel is too old (before 5.14): %w", err)
	}
	return nil
}

// below makes a cgroup below, which the lock of this one covers.
func (c *cgroup) below(name string) (*cgroup, error) {
	sub := &cgroup{dir: filepath.Join(c.dir, name)}
	if err := os.Mkdir(sub.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if sub.fd, err = syscall.Open(sub.dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0); err != nil {
		_ = os.Remove(sub.dir)
		return nil, fmt.Errorf("open %s: %w", sub.dir, err)
	}
	return sub, nil
}

// populated reports whether processes live in the cgroup or below; nil has none.
func (c *cgroup) populated() bool {
	if c == nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "cgroup.events"))
	return err == nil && strings.Contains(string(text), "populated 1")
}

// forbidsStart returns the reason that no process can be started in the cgroup fd, if
// there is one. It costs a fork, so ask where a start has failed. A shortage, here or
// in general, is no fault of the cgroup's.
func forbidsStart(fd int) error {
	// A name that is too long tells executing (ENAMETOOLONG) from forking (any
	// other error: forking into a removed cgroup gives ENOENT, too).
	pid, err := syscall.ForkExec(strings.Repeat("/", 2*syscall.PathMax), []string{"none"}, &syscall.ProcAttr{
		Env: []string{}, Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd},
	})
	switch {
	case err == nil:
		return fmt.Errorf("pid %d unexpectedly runs", pid)
	case slices.Contains([]error{syscall.ENAMETOOLONG, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE}, err):
		return nil
	}
	return err
}

// removeStale removes the cgroups of jobs whose warden and agent were both
// killed: they are empty and no warden holds their lock. One that was made this
// instant, and not locked yet, can be hit, too: see errTakenForStale.
func removeStale(own string) {
	entries, err := os.ReadDir(own)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), allCgroups) {
			continue
		}
		dir := filepath.Join(own, e.Name())
		fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = removeCgroupTree(dir) // fails, as it should, where processes live in it
		}
		_ = syscall.Close(fd)
	}
}

func (c *cgroup) close() {
	if c.fd >= 0 {
		_ = syscall.Close(c.fd)
		c.fd = -1
	}
}

// killCgroup ends every process in dir and below, at once.
func killCgroup(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
}

// removeCgroup removes dir and cgroups that ranks made below it. Processes must
// have ended; the kernel may need a moment more to forget them, for which it
// waits up to a second.
func removeCgroup(dir string) error {
	const patience = time.Second
	for begin := time.Now(); ; time.Sleep(time.Millisecond) { //nolint:forbidigo // the kernel tells nobody when a cgroup is free
		err := removeCgroupTree(dir)
		if err == nil || !errors.Is(err, syscall.EBUSY) || time.Since(begin) > patience {
			return err
		}
	}
}

func removeCgroupTree(dir string) error {
	rerr := syscall.Rmdir(dir)
	if rerr == nil || rerr == syscall.ENOENT {
		return nil
	}
	entries, err := os.ReadDir(dir) // the cgroups below, which are in the way
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeCgroupTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
			rerr = syscall.Rmdir(dir)
		}
	}
	if rerr != nil && rerr != syscall.ENOENT {
		return &os.PathError{Op: "rmdir", Path: dir, Err: rerr}
	}
	return nil
}

// ownCgroup returns the directory of this process's cgroup v2.
func ownCgroup() (string, error) {
	mounts, err := unix.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	member, err := unix.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	_, dir, err := cgroups.Dir(string(mounts), string(member), "")
	return dir, err
}

// dropCgroup removes the job's cgroup, or the tree's, which is empty.
func (w *warden) dropCgroup(j *wardenJob) {
	if j.cgroup == nil {
		return
	}
	dir := j.cgroup.dir
	j.cgroup.close()
	j.cgroup, j.cgroupFD = nil, -1
	if err := removeCgroup(dir); err != nil {
		w.note(j, 0, fmt.Sprintf("the job's cgroup could not be removed: %v", err))
	}
}

// abandonCgroup removes the tree's cgroup where the warden ends before its time, such as
// one whose agent is gone before it can say hello.
func (w *warden) abandonCgroup() {
	cg := w.tree.cgroup
	if cg == nil || w.tree.survived != nil {
		return
	}
	cg.close()
	_ = killCgroup(cg.dir) // a warden that cannot go on has no other word for its ranks
	if err := removeCgroup(cg.dir); err != nil {
		complain("the job's cgroup could not be removed: %v", err)
	}
}

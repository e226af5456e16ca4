package mpi

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/golaunch/golaunch/internal/unix"
)

// sharedMemory is where Open MPI 4 has the segments of its component vader.
const sharedMemory = "/dev/shm"

// openMPITmp is Open MPI's variable for where the directories of its sessions are.
const openMPITmp = "OMPI_MCA_orte_tmpdir_base"

// openMPIDirs has the ranks of Open MPI have their files in a directory of the job's, which
// goes with it, also where this agent and its warden are killed. What the user sets, own,
// counts more. Where there is no room for such a directory, ranks have them in Open MPI's
// own places.
func (l *Libraries) openMPIDirs(own []string) []string {
	if l.openMPIDir == "" {
		dir, err := l.makeShared()
		if err != nil {
			return nil
		}
		l.openMPIDir = dir
	}
	env := sharedEnv(l.openMPIDir, own)
	if unset(own, openMPITmp) {
		env = append(env, openMPITmp+"="+l.openMPIDir)
	}
	return env
}

// openMPILeft names what ranks of Open MPI that are killed leave on their node, where they
// have their files in Open MPI's own places. A mpirun removes it; here nobody else does.
type openMPILeft struct {
	id  uint32 // fluxID of the world: Open MPI's job, after which it names all of it
	tmp string // the ranks' directory for temporary files
}

// openMPILeaves is what ranks with this environment may leave.
func openMPILeaves(id string, env []string) openMPILeft {
	n, _ := strconv.ParseUint(id, 10, 32) // fluxID made it
	left := openMPILeft{uint32(n), "/tmp"}
	for _, name := range []string{"TMP=", "TEMP=", "TMPDIR="} { // the last counts most
		for _, v := range env {
			if value, ok := strings.CutPrefix(v, name); ok && filepath.IsAbs(value) {
				left.tmp = value
			}
		}
	}
	return left
}

// remove removes it: segments below shm, and the session's directory. It takes
// nothing that is another job's or another user's. What cannot be removed is left.
func (l openMPILeft) remove(shm string) {
	entries, _ := os.ReadDir(shm)
	for _, e := range entries {
		if path := filepath.Join(shm, e.Name()); l.segment(e.Name()) && e.Type().IsRegular() && ours(path) {
			_ = os.Remove(path)
		}
	}
	entries, _ = os.ReadDir(l.tmp)
	for _, e := range entries {
		top := filepath.Join(l.tmp, e.Name())
		family := filepath.Join(top, fmt.Sprintf("jf.%d", l.id>>16))
		if !sessions(e.Name()) || !ours(top) || !ours(family) {
			continue
		}
		_ = unix.RemoveTree(filepath.Join(family, fmt.Sprint(l.id&0xffff)))
		for _, dir := range []string{family, top} { // unless others are in there
			_ = syscall.Rmdir(dir)
		}
	}
}

// segment recognises vader_segment.NODE[.UID].JOB.RANK, JOB in hexadecimal.
func (l openMPILeft) segment(name string) bool {
	words := strings.Split(name, ".")
	n := len(words)
	if n < 4 || words[0] != "vader_segment" || words[n-2] != strconv.FormatUint(uint64(l.id), 16) {
		return false
	}
	_, err := strconv.ParseUint(words[n-1], 10, 32)
	return err == nil
}

// sessions recognises ompi.NODE.UID, the directory of this user's sessions.
func sessions(name string) bool {
	return strings.HasPrefix(name, "ompi.") && strings.HasSuffix(name, fmt.Sprintf(".%d", os.Geteuid()))
}

// ours reports whether path is a file or directory, and no link, of this user's.
func ours(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// RemoveLeft removes what killed ranks of Open MPI have left. No rank of the
// job runs here any more.
func (l *Libraries) RemoveLeft() {
	for _, left := range l.left {
		left.remove(sharedMemory)
	}
}

// expectOpenMPILeft notes what ranks of a world may leave.
func (l *Libraries) expectOpenMPILeft(left openMPILeft) {
	if !slices.Contains(l.left, left) {
		l.left = append(l.left, left)
	}
}

package mpi

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/golaunch/golaunch/internal/agent/serve/servepmix"
	"github.com/golaunch/golaunch/internal/stage"
)

// leastRoom is how much room a file system has to have for what ranks of a node, and
// their helper, share, in bytes.
const leastRoom = 16 << 20

// makeShared makes a directory for what ranks of this node share, in memory where
// possible. The warden removes it, as it does the job's files, and so does whoever sweeps
// after both.
func (l *Libraries) makeShared() (string, error) {
	dirs := stage.ScratchDirs(l.NodeJob)
	slices.SortStableFunc(dirs, func(x, y string) int { return order(x) - order(y) })
	if err := l.agent.Scratch(dirs); err != nil {
		return "", err
	}
	return stage.MakePrivate(dirs, leastRoom)
}

// order puts the directories below sharedMemory first: what Open MPI puts there is
// shared memory.
func order(dir string) int {
	if filepath.Dir(dir) == sharedMemory {
		return 0
	}
	return 1
}

// isMemory reports whether a directory is in a file system in memory.
func isMemory(dir string) bool {
	const tmpfs = 0x01021994 // statfs(2), TMPFS_MAGIC
	var st syscall.Statfs_t
	return syscall.Statfs(dir, &st) == nil && st.Type == tmpfs
}

// sharedEnv is what has Open MPI's ranks share their files in a directory, if that is in
// memory; of what the user sets, own, that counts more.
func sharedEnv(dir string, own []string) (env []string) {
	if !isMemory(dir) { // Open MPI's own choice is better
		return nil
	}
	for _, name := range servepmix.SharedDirs {
		if unset(own, name) {
			env = append(env, name+"="+dir)
		}
	}
	return env
}

// unset reports whether an environment says nothing of a directory: that of a job around
// this one it is none for these ranks.
func unset(own []string, name string) bool {
	set := lastOf(own, name)
	return set == "" || strings.Contains(set, "/"+stage.ScratchPrefix)
}

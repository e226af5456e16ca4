package unix

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// OwnChildren returns this process's children, dead ones included. Unlike the
// list of all processes it takes microseconds, so that it catches up with a
// process that goes on forking and exiting: each generation's orphan becomes a
// child of the subreaper. The error is os.ErrNotExist on kernels without it
// (CONFIG_PROC_CHILDREN).
func OwnChildren() ([]int, error) {
	const tasks = "/proc/self/task/"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil, fmt.Errorf("list children: %w", err)
	}
	var pids []int
	for _, t := range threads {
		b, err := os.ReadFile(tasks + t.Name() + "/children")
		if errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return nil, fmt.Errorf("list children: %w", err)
		}
		for _, f := range bytes.Fields(b) {
			pid, err := strconv.Atoi(string(f))
			if err != nil {
				return nil, fmt.Errorf("list children: %q is no process id", f)
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// KillChildren kills this process's children, and those that they leave to it,
// until it has none or bound rounds have not been enough. reap is called after
// each round. Children for which keep returns true are left alone.
func KillChildren(bound int, keep func(pid int) bool, reap func(pids []int)) {
	for range bound {
		pids, err := OwnChildren()
		if err != nil {
			return // the list of all processes has to do
		}
		if keep != nil {
			pids = slices.DeleteFunc(pids, keep)
		}
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // not permitted: the caller finds it again
		}
		reap(pids)
	}
}

// ReapEach collects those of pids that are dead children of this process.
func ReapEach(pids []int) {
	for _, pid := range pids {
		_, _, _, _ = Reap(pid) // it lives still, or somebody else was first
	}
}

const (
	// endPause is the time between two looks of EndChildren: a process that
	// dies closes its files some time before its children become ours.
	endPause = 10 * time.Millisecond
	// endLooks is the number of looks in a row that must find no child.
	endLooks = 5
	// endRounds bounds all of them.
	endRounds = 200
)

// EndChildren kills and reaps all children of this process and those that they
// leave to it, for a process that is about to end and a subreaper. It takes
// 50 ms if there are none.
func EndChildren() {
	for empty, round := 0, 0; empty < endLooks && round < endRounds; round++ {
		<-time.After(endPause)
		pids, err := OwnChildren()
		if err != nil {
			return // CONFIG_PROC_CHILDREN is missing: nothing is known of them
		}
		empty++
		if len(pids) > 0 {
			empty = 0
			KillChildren(1, nil, ReapEach)
		}
	}
}

package stage

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// staleName tells whether a name is that of the directory that script makes for a
// copy of the agent: golaunch, 32 hexadecimal digits, and a UUID.
func staleName(name string) bool {
	parts := strings.Split(name, "-")
	if len(parts) != 7 || parts[0] != "golaunch" {
		return false
	}
	for i, digits := range []int{32, 8, 4, 4, 4, 12} {
		if part := parts[i+1]; len(part) != digits || strings.Trim(part, "0123456789abcdef") != "" {
			return false
		}
	}
	return true
}

// staleAfter is the least age of a stale directory: the clock may have been set.
const staleAfter = time.Minute

// RemoveStale removes from dir the remains of agents that were cut off together with
// their machine: directories of this user's that are older than process 1, which is
// that of the machine or of the container. (A copy that is cut off alone cleans up
// itself.) Directories that cannot be removed stay.
func RemoveStale(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // some are better than none
	var before time.Time
	for _, name := range names {
		if !staleName(name) {
			continue
		}
		if before.IsZero() {
			if before, err = bornFirst("/proc"); err != nil {
				return
			}
			before = earlier(before, time.Now().Add(-staleAfter))
		}
		path := filepath.Join(dir, name)
		if st, err := os.Lstat(path); err == nil && st.Mode().Type() == fs.ModeDir && st.ModTime().Before(before) {
			_ = unix.RemoveTree(path)
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// bornFirst returns the time at which process 1 began: proc_pid_stat(5), field 22, and
// btime of proc_stat(5).
func bornFirst(proc string) (time.Time, error) {
	const perSecond = 100 // clock ticks, as far as programs are told
	stat, err := os.ReadFile(filepath.Join(proc, "1", "stat"))
	if err != nil {
		return time.Time{}, err
	}
	// The program's name stands in parentheses and may have some.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return time.Time{}, fmt.Errorf("process 1: %d fields in its stat", len(fields))
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("process 1: start time: %w", err)
	}
	all, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(all)) {
		if text, ok := strings.CutPrefix(line, "btime "); ok {
			boot, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return time.Unix(boot, 0).Add(time.Duration(ticks) * time.Second / perSecond), err
		}
	}
	return time.Time{}, fmt.Errorf("%s/stat: no btime", proc)
}

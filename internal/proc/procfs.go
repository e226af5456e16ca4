package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"
)

// jobVariable names the job in every rank's environment.
const jobVariable = "GOLAUNCH_JOB"

// JobEnv is the variable by which a sweep finds a process of a job.
func JobEnv(jobID string) string { return jobVariable + "=" + jobID }

// process describes one process by its files in /proc.
type process struct {
	pid, parent, group, session int
	dead                        bool // only waits to be reaped
	ending                      bool // does nothing any more but end
	name                        string
	state                       byte          // of the main thread: R, S, D, ...
	used                        time.Duration // processor time of all its threads
}

// tick is the unit of times in /proc, the same on all machines that Go runs on.
const tick = time.Second / 100

// parseStat reads /proc/PID/stat (proc_pid_stat(5)).
func parseStat(b []byte) (process, bool) {
	// The second field, the name in parentheses, may contain anything.
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	f := bytes.Fields(b[end+1:])
	const state, parent, group, session, flags, user, system, threads = 0, 1, 2, 3, 6, 11, 12, 17
	const exiting = 0x4 // the kernel's PF_EXITING
	if len(f) <= threads || len(f[state]) != 1 {
		return process{}, false
	}
	var p process
	var n, bits, userTicks, systemTicks int
	for _, field := range []struct {
		text []byte
		to   *int
	}{
		{bytes.TrimSpace(b[:open]), &p.pid},
		{f[parent], &p.parent},
		{f[group], &p.group},
		{f[session], &p.session},
		{f[flags], &bits},
		{f[user], &userTicks},
		{f[system], &systemTicks},
		{f[threads], &n},
	} {
		v, err := strconv.Atoi(string(field.text))
		if err != nil {
			return process{}, false
		}
		*field.to = v
	}
	// The main thread of a process may be a zombie while others run.
	s := f[state][0]
	p.dead = s == 'X' || s == 'x' || s == 'Z' && n <= 1
	p.ending = bits&exiting != 0
	p.name, p.state = string(b[open+1:end]), s
	p.used = time.Duration(userTicks)*tick + time.Duration(systemTicks)*tick
	return p, p.pid > 0
}

// aboveAtMost bounds the processes below which a process is sought: others may start
// and end meanwhile.
const aboveAtMost = 1 << 10

// Leader finds the process whose number matches: pid, the leader of its session, or one
// of those above it and the leaders of theirs; 0 if none does, or /proc shows none of
// them. Ranks lead sessions, which whatever they start is in, or has left by itself.
func Leader(pid int, match func(pid int) bool) int {
	buf := make([]byte, 4096)
	for range aboveAtMost {
		if pid <= 1 || match(pid) {
			break
		}
		n, err := readProc("/proc/"+strconv.Itoa(pid)+"/stat", buf)
		p, ok := parseStat(buf[:max(n, 0)])
		switch {
		case err != nil || !ok:
			return 0
		case match(p.session):
			return p.session
		}
		pid = p.parent
	}
	if pid <= 1 {
		return 0
	}
	return pid
}

// processes lists what runs on this host, as far as /proc shows it.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []process
	buf := make([]byte, 4096)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		n, err := readProc("/proc/"+name+"/stat", buf)
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(buf[:n]); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// readProc reads the first part of a file without the poller's registration
// that package os makes for each.
func readProc(path string, buf []byte) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	return syscall.Read(fd, buf)
}

// descendants returns which of all are below root, leaving out those for which
// keep returns true and everything below them.
func descendants(all []process, root int, keep func(pid int) bool) map[int]bool {
	children := map[int][]int{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	below := map[int]bool{}
	for todo := []int{root}; len(todo) > 0; {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, c := range children[pid] {
			// Pid reuse during the listing could make a cycle.
			if !below[c] && c != root && (keep == nil || !keep(c)) {
				below[c] = true
				todo = append(todo, c)
			}
		}
	}
	return below
}

// carries reports whether the environment that a process was started with has
// the variable NAME=value, or NAME=value.more, as the jobs of a tree have. A process
// whose environment cannot be read, because it has ended or is another user's, does not.
func carries(pid int, variable string) bool {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/environ", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	return hasVariable(procReader(fd), variable)
}

// procReader reads a descriptor with nothing in between.
type procReader int

func (r procReader) Read(p []byte) (int, error) {
	n, err := syscall.Read(int(r), p)
	switch {
	case errors.Is(err, syscall.EINTR):
		return 0, nil
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// hasVariable looks for one of the zero-terminated strings of r, or one that goes on
// with a dot, in pieces: an environment can have megabytes.
func hasVariable(r io.Reader, variable string) bool {
	want := append([]byte{0}, variable...) // preceded by the end of another
	buf := make([]byte, 1, 16<<10)         // begins as if another had ended
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for rest := buf; ; {
			i := bytes.Index(rest, want)
			if i < 0 {
				break
			}
			rest = rest[i+len(want):]
			if len(rest) > 0 && (rest[0] == 0 || rest[0] == '.') {
				return true
			}
		}
		if err != nil {
			return bytes.HasSuffix(buf, want) // the last may lack its zero where a process wrote over it
		}
		if tail := len(want); len(buf) > tail { // keep what may be its beginning
			buf = buf[:copy(buf, buf[len(buf)-tail:])]
		}
	}
}

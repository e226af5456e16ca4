package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// procID names one process of the host for good: the kernel reuses a PID, but
// not together with its start time.
type procID struct {
	PID   int
	Start uint64 // clock ticks since boot, from /proc/PID/stat
}

// identify looks the start time of a process up.
func identify(pid int) (procID, error) {
	st, err := readStat(pid)
	if err != nil {
		return procID{}, err
	}
	return procID{pid, st.start}, nil
}

// open returns a pidfd of the process, or errGone.
func (p procID) open() (int, error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if p.PID <= 0 || errors.Is(err, unix.ESRCH) {
		return -1, errGone
	}
	if err != nil {
		return -1, fmt.Errorf("process %d: %w", p.PID, err)
	}
	// The pidfd holds on to one process; if that has the right start time
	// now, it is ours.
	if st, err := readStat(p.PID); err != nil || st.start != p.Start || !holdsNamespaces(p.PID) {
		closeFD(fd)
		return -1, errGone
	}
	return fd, nil
}

// signal sends a signal to exactly this process; errGone if it is gone.
func (p procID) signal(sig syscall.Signal) error {
	fd, err := p.open()
	if err != nil {
		return err
	}
	defer closeFD(fd)
	switch err := unix.PidfdSendSignal(fd, sig, nil, 0); {
	case errors.Is(err, unix.ESRCH):
		return errGone
	case err != nil:
		return fmt.Errorf("process %d: signal: %w", p.PID, err)
	}
	return nil
}

// Proc is a process of a node, as seen from the host when it was listed.
type Proc struct {
	PID     int // on the host
	PPID    int // on the host
	NodePID int // on the node
	// Start is the time of the process's fork, in clock ticks (1/100 s) since the
	// host's boot; with PID it names the process for good.
	Start uint64
	// Cmdline is the argument vector; a process may rewrite its own.
	Cmdline []string
}

func (p Proc) id() procID { return procID{p.PID, p.Start} }

// Alive reports whether the process still runs; a zombie does not.
func (p Proc) Alive() bool {
	st, err := readStat(p.PID)
	return err == nil && st.start == p.Start && st.alive()
}

// Signal sends a signal to this process, and to no later one with its PID. It
// returns os.ErrProcessDone if the process is gone.
func (p Proc) Signal(sig syscall.Signal) error {
	err := p.id().signal(sig)
	if errors.Is(err, errGone) {
		return os.ErrProcessDone
	}
	return err
}

// Exe is the path of the program the process runs.
func (p Proc) Exe() (string, error) {
	return os.Readlink(procPath(p.PID, "exe"))
}

// Environ is the environment the process was started with.
func (p Proc) Environ() ([]string, error) {
	b, err := os.ReadFile(procPath(p.PID, "environ"))
	return splitNUL(b), err
}

func procPath(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

func splitNUL(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(b, []byte{0})), "\x00")
}

// stat holds the needed fields of /proc/PID/stat (proc(5)).
type stat struct {
	state byte
	ppid  int
	start uint64
}

func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

func parseStat(b []byte) (stat, error) {
	// The second field is the program's name in brackets, which may hold
	// anything; the last bracket ends it.
	i := bytes.LastIndexByte(b, ')')
	fields := strings.Fields(string(b[i+1:]))
	if i < 0 || len(fields) < 20 {
		return stat{}, fmt.Errorf("process status %.40q: not in the form of proc(5)", b)
	}
	ppid, err1 := strconv.Atoi(fields[1])
	start, err2 := strconv.ParseUint(fields[19], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return stat{}, fmt.Errorf("process status %.40q: %w", b, err)
	}
	return stat{fields[0][0], ppid, start}, nil
}

// pids lists the processes of the host.
func pids() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var list []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list, nil
}

// pidNamespaces resolves processes to their PID namespaces, by inode.
type pidNamespaces struct{ parent map[uint64]uint64 }

func newPIDNamespaces() pidNamespaces { return pidNamespaces{make(map[uint64]uint64)} }

// within reports whether a process lives in the namespace with inode ns or in
// one below it. A process that is gone does not.
func (p pidNamespaces) within(pid int, ns uint64) bool {
	path := procPath(pid, "ns/pid")
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return false
	}
	if st.Ino == ns {
		return true
	}
	if _, known := p.parent[st.Ino]; !known {
		p.learn(path, st.Ino)
	}
	for ino := p.parent[st.Ino]; ino != 0; ino = p.parent[ino] {
		if ino == ns {
			return true
		}
	}
	return false
}

// learn records the ancestors of the namespace that path refers to. The
// topmost we may look at, the host's, gets parent 0.
func (p pidNamespaces) learn(path string, ino uint64) {
	p.parent[ino] = 0
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for err == nil {
		var up int
		up, err = unix.IoctlRetInt(fd, unix.NS_GET_PARENT)
		closeFD(fd)
		if err != nil {
			return // EPERM: there is nothing above
		}
		var st unix.Stat_t
		if err = unix.Fstat(up, &st); err != nil {
			closeFD(up)
			return
		}
		p.parent[ino] = st.Ino
		ino, fd = st.Ino, up
		p.parent[ino] = 0
	}
}

// holdsNamespaces reports whether a process is still in namespaces. One that
// ends gives them up before it becomes a zombie, and may stay between the two:
// the first process of a PID namespace waits there for the others' parents.
func holdsNamespaces(pid int) bool {
	var st unix.Stat_t
	return unix.Stat(procPath(pid, "ns/mnt"), &st) == nil
}

// pidNamespaceOf is the inode of a live process's PID namespace.
func pidNamespaceOf(id procID) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(procPath(id.PID, "ns/pid"), &st); err != nil {
		return 0, errGone
	}
	if now, err := readStat(id.PID); err != nil || now.start != id.Start || !holdsNamespaces(id.PID) {
		return 0, errGone
	}
	return st.Ino, nil
}

// processesOf lists the live processes of the node whose process 1 is given,
// without that.
func processesOf(init procID) ([]Proc, error) {
	ns, err := pidNamespaceOf(init)
	if err != nil {
		return nil, err
	}
	list, err := pids()
	if err != nil {
		return nil, err
	}
	known := newPIDNamespaces()
	var procs []Proc
	for _, pid := range list {
		if pid == init.PID || !known.within(pid, ns) {
			continue
		}
		proc, err := readProc(pid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		if proc.PID != 0 {
			procs = append(procs, proc)
		}
	}
	return procs, nil
}

// readProc describes a process; a zombie comes back as the zero Proc.
func readProc(pid int) (Proc, error) {
	st, err := readStat(pid)
	if err != nil || !st.alive() {
		return Proc{}, err
	}
	cmdline, err := os.ReadFile(procPath(pid, "cmdline"))
	if err != nil {
		return Proc{}, err
	}
	status, err := os.ReadFile(procPath(pid, "status"))
	if err != nil {
		return Proc{}, err
	}
	return Proc{PID: pid, PPID: st.ppid, NodePID: nodePID(status), Start: st.start, Cmdline: splitNUL(cmdline)}, nil
}

// nodePID reads the PID in the first namespace below the host's from
// /proc/PID/status; 0 where there is none.
func nodePID(status []byte) int {
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			if f := strings.Fields(rest); len(f) > 1 {
				pid, _ := strconv.Atoi(f[1]) // 0 if the kernel says something new
				return pid
			}
		}
	}
	return 0
}

package bulk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
)

// proc is a process of a job.
type proc struct {
	pid  int
	host string // "" for a rank, and for a warden
	args []string
}

func (p proc) hasArg(word string) bool { return slices.Contains(p.args, word) }

// processes are those of the job, but for the launcher.
func (r *running) processes() (all []proc) {
	self, err := os.Stat("/proc/self/exe")
	require.NoError(r.t, err)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(r.t, err)
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		require.NoError(r.t, err)
		env, err := os.ReadFile(dir + "/environ")
		p := proc{pid: pid}
		line, lineErr := os.ReadFile(dir + "/cmdline")
		p.args = strings.Split(string(line), "\x00")
		ours := bytes.Contains(env, []byte(markVariable+"="+r.mark+"\x00"))
		if p.hasArg("nla-warden") { // has nothing of its agent's environment; one job runs at a time
			exe, err := os.Stat(dir + "/exe")
			ours = err == nil && os.SameFile(exe, self)
		}
		if err != nil || lineErr != nil || pid == r.cmd.Process.Pid || !ours {
			continue
		}
		for _, word := range strings.Split(string(env), "\x00") {
			if host, ok := strings.CutPrefix(word, bootstraptest.HostVariable+"="); ok {
				p.host = host
			}
		}
		all = append(all, p)
	}
	return all
}

// find waits for a process of a host that has a word in its command line.
func (r *running) find(host, word string) (found proc) {
	r.t.Helper()
	r.eventually(word+" on "+host, func() bool {
		for _, p := range r.processes() {
			if p.host == host && p.hasArg(word) && p.args[0] != "/bin/sh" {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

func (r *running) agent(host string) proc { return r.find(host, "nla-agent") }

// awaitWarden waits until an agent was told its part, and has a warden.
func (r *running) awaitWarden(host string) {
	r.t.Helper()
	agent := r.agent(host).pid
	r.eventually("warden on "+host, func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", agent))
		require.NoError(r.t, err)
		var children strings.Builder
		for _, thread := range threads {
			list, _ := os.ReadFile(thread) // unless it has ended
			children.Write(append(list, ' '))
		}
		for _, child := range strings.Fields(children.String()) {
			line, err := os.ReadFile("/proc/" + child + "/cmdline")
			if err == nil && slices.Contains(strings.Split(string(line), "\x00"), "nla-warden") {
				return true
			}
		}
		return false
	})
}

// nothingLeft waits until no process of the job lives.
func (r *running) nothingLeft() {
	r.t.Helper()
	r.eventually("nothing is left", func() bool { return len(r.processes()) == 0 })
}

// kill kills an agent.
func (r *running) kill(host string) {
	require.NoError(r.t, syscall.Kill(r.agent(host).pid, syscall.SIGKILL))
}

// cut breaks the connection of an agent to its parent, as a network would, and
// leaves it alive. Children, of which it has none or two, or one and is ready to take
// another, have called it at a port of its own.
func (r *running) cut(host string) {
	r.t.Helper()
	pid := r.agent(host).pid
	process, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	require.Zero(r.t, errno)
	defer syscall.Close(int(process))
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(r.t, err)
	byPort := map[int][]int{} // copies of its sockets
	for _, path := range fds {
		fd, err := strconv.Atoi(filepath.Base(path))
		require.NoError(r.t, err)
		if name, err := os.Readlink(path); err != nil || !strings.HasPrefix(name, "socket:") {
			continue
		}
		copied, _, errno := syscall.Syscall(pidfdGetfd, process, uintptr(fd), 0)
		if errno != 0 {
			continue // closed since
		}
		defer syscall.Close(int(copied))
		if local, err := syscall.Getsockname(int(copied)); err == nil {
			if inet, ok := local.(*syscall.SockaddrInet4); ok {
				byPort[inet.Port] = append(byPort[inet.Port], int(copied))
			}
		}
	}
	cut := 0
	for _, sockets := range byPort {
		if len(sockets) == 1 {
			require.NoError(r.t, syscall.Shutdown(sockets[0], syscall.SHUT_RDWR))
			cut++
		}
	}
	require.Equal(r.t, 1, cut, "connections of %s to a parent", host)
}

// hungUp counts the sockets of the job's processes, golaunch among them, that are
// open though whoever was at the other end has hung up.
func (r *running) hungUp() (n int) {
	table, err := os.ReadFile("/proc/net/tcp")
	require.NoError(r.t, err)
	const state, inode, closeWait = 3, 9, "08"
	left := map[string]bool{} // by inode
	for line := range strings.Lines(string(table)) {
		if words := strings.Fields(line); len(words) > inode && words[state] == closeWait {
			left["socket:["+words[inode]+"]"] = true
		}
	}
	pids := []int{r.cmd.Process.Pid}
	for _, p := range r.processes() {
		pids = append(pids, p.pid)
	}
	for _, pid := range pids {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		require.NoError(r.t, err)
		for _, fd := range fds {
			if name, err := os.Readlink(fd); err == nil && left[name] { // or it was closed since
				n++
			}
		}
	}
	return n
}

// System calls that package syscall has no number of; it is the same on all
// architectures.
const (
	pidfdOpen  = 434
	pidfdGetfd = 438
)

package proc

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Connected finds who is at the other ends of the TCP connections that a process has
// within this machine: of each, the processes that hold it open, as far as /proc shows
// any. It reads all of /proc, which takes tens of milliseconds.
func Connected(pid int) ([][]int, error) {
	own, err := sockets(pid)
	if err != nil {
		return nil, fmt.Errorf("connections of process %d: %w", pid, err)
	}
	far, err := farEnds(pid, own)
	if err != nil {
		return nil, fmt.Errorf("connections of process %d: %w", pid, err)
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(far))
	for i, inode := range far {
		at[inode] = i
	}
	ends := make([][]int, len(far))
	for _, p := range all {
		if p.pid == pid {
			continue
		}
		theirs, _ := sockets(p.pid) // it has ended, or is another user's
		for inode := range theirs {
			if i, ok := at[inode]; ok {
				ends[i] = append(ends[i], p.pid)
			}
		}
	}
	return ends, nil
}

// sockets are the inodes of those that a process has open.
func sockets(pid int) (map[string]bool, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	inodes := map[string]bool{}
	for _, fd := range fds {
		target, err := os.Readlink(dir + fd.Name())
		if inode, ok := strings.CutPrefix(target, "socket:["); err == nil && ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return inodes, nil
}

// farEnds are the inodes of the sockets that those of own are connected to, in the table of
// a process's network (proc_net_tcp(5)).
func farEnds(pid int, own map[string]bool) (far []string, err error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/net/tcp")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const local, remote, state, inode, established = 1, 2, 3, 9, "01"
	byEnds := map[string]string{}
	var wanted []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		row := strings.Fields(lines.Text())
		if len(row) <= inode || row[state] != established {
			continue
		}
		byEnds[row[local]+row[remote]] = row[inode]
		if own[row[inode]] {
			wanted = append(wanted, row[remote]+row[local])
		}
	}
	for _, ends := range wanted {
		if n, found := byEnds[ends]; found && n != "0" {
			far = append(far, n)
		}
	}
	return far, lines.Err()
}

package unix

import (
	"bufio"
	"io"
	"net/netip"
	"strings"
)

// Attempt is a TCP connection that was begun and is not answered yet.
type Attempt struct {
	From, To netip.AddrPort
	Inode    string // of its socket, as /proc/PID/fd has it
}

// Attempts lists those of the network namespace that this process is in
// (proc_net_tcp(5)).
func Attempts() (all []Attempt, err error) {
	err = eachTable(func(table io.Reader) error {
		some, err := attempts(table)
		all = append(all, some...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// attempts finds them in a table of the kernel's.
func attempts(table io.Reader) (all []Attempt, err error) {
	const local, remote, state, inode, synSent = 1, 2, 3, 9, "02"
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) <= inode || f[state] != synSent {
			continue
		}
		from, ok1 := tableAddr(f[local])
		to, ok2 := tableAddr(f[remote])
		if ok1 && ok2 {
			all = append(all, Attempt{from, to, f[inode]})
		}
	}
	return all, lines.Err()
}

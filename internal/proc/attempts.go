package proc

import "github.com/golaunch/golaunch/internal/unix"

// Attempts finds the TCP connections of processes, and of all that they have started, that
// were begun and are not answered yet, by pid. It reads all of /proc where there is any
// in this network.
func Attempts(pids []int) (map[int][]unix.Attempt, error) {
	open, err := unix.Attempts()
	if err != nil || len(open) == 0 {
		return nil, err
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	found := map[int][]unix.Attempt{}
	for pid, family := range familiesOf(all, pids) {
		for _, member := range family {
			own, _ := sockets(member) // it has ended, or is another user's
			for _, a := range open {
				if own[a.Inode] {
					found[pid] = append(found[pid], a)
				}
			}
		}
	}
	return found, nil
}

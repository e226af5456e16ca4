package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The neighbour (ARP) table is one for all network namespaces of a machine, and
// so are its limits: 32 nodes that all talk to each other fill the default of
// 1024 entries, and then "destination unreachable" is reported for peers that
// are there. They are raised while any cluster is up.
const (
	neighbourSysctls = "/proc/sys/net/ipv4/neigh/default/"
	neighbourRecord  = "/run/golaunch-cluster-neighbours.json"
)

// neighbourLimits are the values of gc_thresh1 to gc_thresh3: below the first
// nothing is collected, above the last nothing is added.
type neighbourLimits [3]int

// enough is room for MaxNodes machines that all know each other.
var enough = neighbourLimits{1 << 17, 1 << 18, 1 << 19}

// neighbours is the record of a raised limit: its users, and the limits to go back to
// after the last of them.
type neighbours struct {
	Before neighbourLimits
	Users  map[string]string // cluster ID to directory
}

func raiseNeighbourLimits(s *state) error {
	return withNeighbours(func(r *neighbours) (neighbourLimits, error) {
		now, err := readNeighbourLimits()
		if err != nil {
			return now, err
		}
		if len(r.Users) == 0 {
			*r = neighbours{Before: now, Users: make(map[string]string)}
		}
		r.Users[s.ID] = s.Config.Dir
		for i := range now {
			now[i] = max(now[i], enough[i])
		}
		return now, nil
	})
}

func restoreNeighbourLimits(s *state) error {
	return withNeighbours(func(r *neighbours) (neighbourLimits, error) {
		now, err := readNeighbourLimits()
		if _, ok := r.Users[s.ID]; !ok || err != nil {
			return now, err
		}
		delete(r.Users, s.ID)
		// A cluster whose directory was deleted will never be taken down.
		for id, dir := range r.Users {
			if other, err := loadState(dir); err != nil || other.ID != id {
				delete(r.Users, id)
			}
		}
		if len(r.Users) > 0 {
			return now, nil
		}
		return r.Before, nil
	})
}

// withNeighbours gives f the machine's record, which only one process at a
// time may hold, keeps the record that f has changed, and sets the limits that f
// returns. The limits are never raised without a record of the earlier ones.
func withNeighbours(f func(*neighbours) (neighbourLimits, error)) error {
	lock, err := os.Open(filepath.Dir(neighbourRecord))
	if err != nil {
		return fmt.Errorf("neighbour limits: %w", err)
	}
	defer lock.Close() // and unlocks
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("neighbour limits: lock: %w", err)
	}
	var r neighbours
	b, err := os.ReadFile(neighbourRecord)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("neighbour limits: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(b, &r); err != nil {
			return fmt.Errorf("neighbour limits: %s: %w", neighbourRecord, err)
		}
	}
	limits, err := f(&r)
	if err == nil && len(r.Users) > 0 {
		if b, err = json.Marshal(r); err == nil {
			err = os.WriteFile(neighbourRecord, b, 0o600)
		}
	}
	if err == nil {
		err = writeNeighbourLimits(limits)
	}
	if err == nil && len(r.Users) == 0 {
		if err = os.Remove(neighbourRecord); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("neighbour limits: %w", err)
	}
	return nil
}

func neighbourSysctl(i int) string { return neighbourSysctls + "gc_thresh" + strconv.Itoa(i+1) }

func readNeighbourLimits() (l neighbourLimits, err error) {
	for i := range l {
		b, err := os.ReadFile(neighbourSysctl(i))
		if err != nil {
			return l, err
		}
		if l[i], err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
			return l, fmt.Errorf("%s: %w", neighbourSysctl(i), err)
		}
	}
	return l, nil
}

func writeNeighbourLimits(l neighbourLimits) error {
	for i, v := range l {
		if err := os.WriteFile(neighbourSysctl(i), []byte(strconv.Itoa(v)), 0); err != nil {
			return err
		}
	}
	return nil
}

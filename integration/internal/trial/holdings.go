package trial

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// Holdings are the machines' files in places of a job's programs, mounts and cgroups,
// by machine.
type Holdings map[string]map[string]bool

// listing prints one holding per line. Shared files are mounted there, and are passed
// over: the project may lie below /tmp, with the reports that jobs write.
const listing = `find /tmp /dev/shm /run "$HOME" -xdev -mindepth 1 -printf 'file %p\n' 2>/dev/null
sed 's/^[^ ]* [^ ]* [^ ]* [^ ]* /mount /; s/^\(mount [^ ]*\).*/\1/' /proc/self/mountinfo
find /sys/fs/cgroup -mindepth 1 -type d -printf 'cgroup %p\n' 2>/dev/null || :`

// Inventory lists the holdings of the cluster's machines. All must be up.
func Inventory(c *cluster.Cluster) (Holdings, error) {
	var mu sync.Mutex
	var first error
	all, listers := make(Holdings), sync.WaitGroup{}
	for _, name := range Everywhere(c) {
		listers.Go(func() {
			out, err := c.Command(name, "sh", "-c", listing).Output()
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = fmt.Errorf("%s: list what it holds: %w", name, err)
			}
			all[name] = make(map[string]bool)
			for line := range bytes.Lines(out) {
				all[name][strings.TrimSpace(string(line))] = true
			}
		})
	}
	listers.Wait()
	return all, first
}

// without takes those mounts out that a mountinfo lists: mounts by users of this
// machine show on the cluster's, which keep those that they had from the beginning.
func (h Holdings) without(mountinfo []byte) {
	for line := range bytes.Lines(mountinfo) {
		if f := bytes.Fields(line); len(f) > 4 {
			for _, held := range h {
				delete(held, "mount "+string(f[4]))
			}
		}
	}
}

// Added lists the holdings in h that were not in before, "n001: file /tmp/x", in order.
// Of machines that before does not have, nothing is listed.
func (h Holdings) Added(before Holdings) []string {
	var added []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, item := range slices.Sorted(maps.Keys(h[name])) {
			if old := before[name]; old != nil && !old[item] {
				added = append(added, name+": "+item)
			}
		}
	}
	return added
}

// AwaitNothingHeld waits until the machines hold nothing that they did not
// before, for at most limit after since. The error lists the rest.
func AwaitNothingHeld(c *cluster.Cluster, before Holdings, since time.Time, limit time.Duration) error {
	for {
		late := time.Since(since) > limit
		now, err := Inventory(c)
		if err != nil {
			return err
		}
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return fmt.Errorf("mounts of this machine: %w", err)
		}
		now.without(mounts)
		added := now.Added(before)
		if len(added) == 0 {
			return nil
		}
		if late {
			return fmt.Errorf("left after %v: %s", time.Since(since).Round(time.Millisecond), strings.Join(added, "; "))
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // files and cgroups: nothing tells of them
	}
}

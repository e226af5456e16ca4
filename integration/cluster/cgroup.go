package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// makeCgroups makes a cgroup for each node where the machine has a cgroup v2
// hierarchy, alone or beside v1. Without one, nodes have none.
func (p *netnsProvider) makeCgroups() error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("cgroups: %w", err)
	}
	root := cgroup2Mount(string(b))
	if root == "" {
		return nil
	}
	dir := filepath.Join(root, "golaunch-cluster-"+p.state.ID)
	// Known to Down before it exists.
	p.state.Cgroup = dir
	if err := p.state.save(); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cgroups: %w", err)
	}
	for i := range p.state.Nodes {
		if err := os.Mkdir(p.cgroupOf(&p.state.Nodes[i]), 0o755); err != nil {
			return fmt.Errorf("cgroups: %w", err)
		}
	}
	return nil
}

// cgroupOf is the cgroup of a node: the root of those that the node sees.
func (p *netnsProvider) cgroupOf(n *Node) string { return filepath.Join(p.state.Cgroup, n.Name) }

// cgroup2Mount finds where the root of the cgroup v2 hierarchy is mounted, in
// the format of /proc/PID/mountinfo (proc(5)); "" if it is not.
func cgroup2Mount(mountinfo string) string { return cgroupMount(mountinfo, "cgroup2", "") }

// freezerMount finds that of the freezer's cgroup v1 hierarchy.
func freezerMount(mountinfo string) string { return cgroupMount(mountinfo, "cgroup", "freezer") }

// cgroupMount finds where the root of a hierarchy is mounted, by its file system and one
// of this one's options; "" if it is not.
func cgroupMount(mountinfo, kind, option string) string {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 6 || len(system) < 3 || system[0] != kind {
			continue
		}
		// Field 3 is the part of the hierarchy that is mounted, field 4 where.
		match := option == "" || slices.Contains(strings.Split(system[2], ","), option)
		if mount[3] == "/" && strings.HasPrefix(mount[5], "rw") && match {
			return mount[4]
		}
	}
	return ""
}

// removeCgroups removes the cluster's cgroups with all that programs made
// below them; "" is one that there is not. A cgroup can be removed when its last
// process is gone.
func removeCgroups(ctx context.Context, dirs ...string) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	return poll(ctx, func() error {
		for _, dir := range dirs {
			if dir == "" {
				continue
			}
			err := removeCgroupTree(dir)
			if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOTEMPTY) {
				return retry(err)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// CPUTime returns the processor time of all programs on the cluster's machines since
// Up, those that have ended included. It needs a cgroup v2 hierarchy.
func (c *Cluster) CPUTime() (time.Duration, error) { return c.cpuTime("") }

// NodeCPUTime is the same of one node.
func (c *Cluster) NodeCPUTime(name string) (time.Duration, error) { return c.cpuTime(name) }

func (c *Cluster) cpuTime(name string) (time.Duration, error) {
	if c.state.Cgroup == "" {
		return 0, errors.New("processor time: the cluster has no cgroup")
	}
	b, err := os.ReadFile(filepath.Join(c.state.Cgroup, name, "cpu.stat"))
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	return cpuUsage(string(b))
}

// cpuUsage reads a cgroup's cpu.stat.
func cpuUsage(stat string) (time.Duration, error) {
	for line := range strings.Lines(stat) {
		if value, ok := strings.CutPrefix(line, "usage_usec "); ok {
			micros, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return time.Duration(micros) * time.Microsecond, err
		}
	}
	return 0, fmt.Errorf("processor time: no usage_usec in %.60q", stat)
}

func removeCgroupTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove cgroup: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeCgroupTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove cgroup %s: %w", dir, err)
	}
	return nil
}

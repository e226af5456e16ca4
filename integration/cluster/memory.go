package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MemoryUnavailable returns the reason that Config.Memory cannot be had on this
// machine, or nil.
func MemoryUnavailable() error {
	dir, err := memoryParent()
	if err == nil {
		err = unix.Access(dir, unix.W_OK)
	}
	if err != nil {
		return fmt.Errorf("memory of nodes cannot be bounded: %w", err)
	}
	return nil
}

// memoryParent is this process's cgroup in the memory controller's hierarchy of cgroup
// v1: those of nodes are below it, so that bounds from outside hold for them, too.
func memoryParent() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	root := cgroupMount(string(mounts), "cgroup", "memory")
	if root == "" {
		return "", errors.New("no memory controller of cgroup v1 is mounted here")
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return filepath.Join(root, cgroupOfController(string(own), "memory")), nil
}

// cgroupOfController finds in the format of /proc/PID/cgroup (cgroups(7)) the path of a
// controller of cgroup v1; "/" where it is not listed.
func cgroupOfController(cgroups, controller string) string {
	for line := range strings.Lines(cgroups) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		for name := range strings.SplitSeq(f[1], ",") {
			if name == controller {
				return f[2]
			}
		}
	}
	return "/"
}

// makeMemory makes a memory cgroup for each machine.
func (p *netnsProvider) makeMemory() error {
	parent, err := memoryParent()
	if err != nil {
		return fmt.Errorf("memory of nodes: %w", err)
	}
	p.state.Memory = filepath.Join(parent, "golaunch-cluster-"+p.state.ID)
	if err := p.state.save(); err != nil { // known to Down before it exists
		return err
	}
	if err := os.Mkdir(p.state.Memory, 0o755); err != nil {
		return fmt.Errorf("memory of nodes: %w", err)
	}
	for i := range p.state.Nodes {
		if err := os.Mkdir(p.memoryOf(&p.state.Nodes[i], ""), 0o755); err != nil {
			return fmt.Errorf("memory of nodes: %w", err)
		}
	}
	return nil
}

// memoryOf is a file of a node's memory cgroup.
func (p *netnsProvider) memoryOf(n *Node, file string) string {
	return filepath.Join(p.state.Memory, n.Name, file)
}

// enterMemory moves the current thread, which must be locked, and so all that it starts,
// into the memory cgroup of n. It is called before the thread changes its namespaces.
func (p *netnsProvider) enterMemory(n *Node) error {
	if p.state.Memory == "" {
		return nil
	}
	err := os.WriteFile(p.memoryOf(n, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	return err
}

// mostHeadroom bounds the headroom that is tried, twice as much each time.
const mostHeadroom = 1 << 40

// BoundMemory bounds the memory of a node's sshd, and of all that it starts, to their
// present use and headroom bytes more: beyond that the kernel kills some of them. Files
// that they write in /tmp and /dev/shm count. If the kernel refuses that bound, the
// next one that it takes counts. The cluster needs Config.Memory.
func (c *Cluster) BoundMemory(name string, headroom int64) error {
	return c.memory(name, func(p *netnsProvider, n *Node) error {
		for ; ; headroom = max(2*headroom, 1<<16) {
			used, err := readNumber(p.memoryOf(n, "memory.usage_in_bytes"))
			if err != nil {
				return err
			}
			err = writeNumber(p.memoryOf(n, "memory.limit_in_bytes"), used+headroom)
			if !errors.Is(err, unix.EBUSY) || headroom > mostHeadroom {
				return err
			}
		}
	})
}

// FreeMemory undoes BoundMemory.
func (c *Cluster) FreeMemory(name string) error {
	return c.memory(name, func(p *netnsProvider, n *Node) error {
		return writeNumber(p.memoryOf(n, "memory.limit_in_bytes"), -1)
	})
}

// TakeMemory takes bytes of the memory that BoundMemory leaves on a node, until
// giveBack is called, by a file in /dev/shm. As the kernel cannot reclaim that, it
// kills processes instead, the greatest first, and so the file's writer last. sshd may
// be among them: Revive starts it again. TakeMemory comes back when all is taken, or
// nobody is left to kill.
func (c *Cluster) TakeMemory(name string, bytes int64) (giveBack func() error, err error) {
	err = c.memory(name, func(p *netnsProvider, n *Node) error {
		cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("exec head -c %d /dev/zero >%s", bytes, takenFile))
		cmd.Dir = "/"
		if err := p.startBound(n, cmd); err != nil {
			return err
		}
		_ = cmd.Wait() // it is killed where there is nobody else
		return nil
	})
	return func() error {
		out, err := c.Command(name, "rm", "-f", takenFile).CombinedOutput()
		if err != nil {
			return fmt.Errorf("node %s: give memory back: %w%s", name, err, quote(out))
		}
		return nil
	}, err
}

const takenFile = "/dev/shm/taken"

// MemoryKills counts the processes of a node that the kernel has killed since Up, as
// they were beyond the bound of BoundMemory.
func (c *Cluster) MemoryKills(name string) (kills int, err error) {
	err = c.memory(name, func(p *netnsProvider, n *Node) error {
		b, err := os.ReadFile(p.memoryOf(n, "memory.oom_control"))
		if err != nil {
			return err
		}
		kills, err = oomKills(string(b))
		return err
	})
	return kills, err
}

// oomKills reads a cgroup's memory.oom_control.
func oomKills(control string) (int, error) {
	for line := range strings.Lines(control) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("no oom_kill in %.60q", control)
}

func (c *Cluster) memory(name string, f func(*netnsProvider, *Node) error) error {
	p, ok := c.provider.(*netnsProvider)
	if !ok || p.state.Memory == "" {
		return errors.New("memory of nodes: the cluster was made without Config.Memory")
	}
	return c.do(name, func(n *Node) error { return f(p, n) })
}

func readNumber(file string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

func writeNumber(file string, n int64) error {
	return os.WriteFile(file, []byte(strconv.FormatInt(n, 10)), 0)
}

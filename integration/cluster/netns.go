package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	startTimeout = 2 * time.Minute // for one node's process 1 or sshd, on a busy machine
	endTimeout   = time.Minute     // for killed processes to be gone
	parallel     = 8               // nodes worked on at once
)

// marker is the environment variable by which Down finds every process 1.
const marker = "GOLAUNCH_TEST_CLUSTER"

// netnsProvider makes nodes of namespaces.
type netnsProvider struct {
	state *state

	mu sync.Mutex
	// children are the processes this process started and has to reap; those
	// of another process that made the cluster are init's.
	children []int
}

var _ provider = (*netnsProvider)(nil)

// up implements provider.
func (p *netnsProvider) up(ctx context.Context) error {
	if err := raiseNeighbourLimits(p.state); err != nil {
		return err
	}
	if err := p.makeCgroups(); err != nil {
		return err
	}
	if p.state.Config.Slurm {
		if err := p.makeFreezer(); err != nil {
			return err
		}
	}
	if p.state.Config.Memory {
		if err := p.makeMemory(); err != nil {
			return err
		}
	}
	if err := p.startFabric(ctx); err != nil {
		return fmt.Errorf("switches: %w", err)
	}
	if err := p.eachNode(ctx, p.startInit); err != nil {
		return err
	}
	if err := p.state.save(); err != nil {
		return err
	}
	if err := p.wire(); err != nil {
		return fmt.Errorf("switches: %w", err)
	}
	err := p.eachNode(ctx, func(ctx context.Context, n *Node) error {
		if err := p.configureNetwork(n); err != nil {
			return err
		}
		if n.Name == Outside {
			return nil
		}
		return p.startSSHD(ctx, n)
	})
	if err == nil && p.state.Config.Slurm {
		if err = p.startSlurm(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrSlurm, err)
		}
	}
	if err == nil && p.state.Config.GridEngine {
		if err = p.startGridEngine(ctx); err != nil {
			return fmt.Errorf("start Grid Engine: %w", err)
		}
	}
	return err
}

// eachNode runs f for all machines, several at a time, and stops at the first
// error.
func (p *netnsProvider) eachNode(ctx context.Context, f func(context.Context, *Node) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range p.state.Nodes {
		n := &p.state.Nodes[i]
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f(ctx, n); err != nil {
				return fmt.Errorf("node %s: %w", n.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// initScript becomes process 1 of a node. It ignores SIGCHLD, so that the kernel reaps
// orphans of the node, and having no handlers it is immune to every signal from there.
const initScript = `set -e
if [ "$1" = cgroup2 ]; then mount -t cgroup2 cgroup2 /sys/fs/cgroup; fi
echo ready
exec env --ignore-signal=CHLD sleep infinity >/dev/null 2>&1`

// startInit makes the namespaces of n with a process in them that keeps them.
func (p *netnsProvider) startInit(ctx context.Context, n *Node) error {
	cgroup, err := p.openCgroup(n)
	if err != nil {
		return err
	}
	defer cgroup.Close()
	fs := ""
	if cgroup.File != nil {
		fs = "cgroup2"
	}
	// The cgroup namespace has to be made from inside the cgroup, /proc from
	// inside the PID namespace; the rest is done before.
	cmd := exec.Command("unshare", "--cgroup", "--mount-proc", "--propagation", "unchanged",
		"sh", "-c", initScript, "sh", fs)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWPID}
	cgroup.use(cmd)
	n.Init, err = p.startKeeper(ctx, cmd, func() error {
		if err := p.enterFreezer(n); err != nil {
			return err
		}
		return makeNamespaces(p.state, n)
	})
	return err
}

// startKeeper starts a process that holds namespaces made by prepare, and
// waits until it says that it is ready.
func (p *netnsProvider) startKeeper(ctx context.Context, cmd *exec.Cmd, prepare func() error) (procID, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return procID{}, fmt.Errorf("pipe: %w", err)
	}
	defer r.Close()
	cmd.Env = append(cleanEnv(Root, "/"), marker+"="+p.state.ID)
	cmd.Stdout, cmd.Stderr = w, w
	err = onThread(func() error {
		if err := prepare(); err != nil {
			return err
		}
		return cmd.Start()
	})
	w.Close()
	if err != nil {
		return procID{}, err
	}
	pid := cmd.Process.Pid
	p.mu.Lock()
	p.children = append(p.children, pid)
	p.mu.Unlock()
	// Down waits for it by PID, so as never to block.
	if err := cmd.Process.Release(); err != nil {
		return procID{}, fmt.Errorf("process 1: %w", err)
	}
	if text, err := readAll(ctx, r, startTimeout); err != nil || strings.TrimSpace(string(text)) != "ready" {
		return procID{}, errors.Join(fmt.Errorf("process 1 did not come up%s", quote(text)), err)
	}
	return identify(pid)
}

// readAll reads a pipe to its end, for a limited time.
func readAll(ctx context.Context, r *os.File, timeout time.Duration) ([]byte, error) {
	if err := r.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var text []byte
	b := make([]byte, 4096)
	for len(text) < 1<<16 {
		n, err := r.Read(b)
		text = append(text, b[:n]...)
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return text, errors.Join(err, ctx.Err())
		}
	}
	return text, nil
}

// down implements provider.
func (p *netnsProvider) down(ctx context.Context) error {
	if err := p.killAll(ctx); err != nil {
		return err
	}
	if err := removeCgroups(ctx, p.state.Cgroup, p.state.Freezer, p.state.Memory); err != nil {
		return err
	}
	return restoreNeighbourLimits(p.state)
}

// killAll kills every process of the cluster and waits until they are gone.
// The kernel ends a PID namespace with its process 1.
func (p *netnsProvider) killAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	self, err := identify(os.Getpid())
	if err != nil {
		return err
	}
	own, err := pidNamespaceOf(self)
	if err != nil {
		return err
	}
	spaces := make(map[uint64]bool)
	return poll(ctx, func() error {
		keepers, err := p.keepers()
		if err != nil {
			return err
		}
		for _, k := range keepers {
			if ns, err := pidNamespaceOf(k); err == nil && ns != own {
				spaces[ns] = true
			}
		}
		for _, k := range keepers {
			if err := k.signal(unix.SIGKILL); err != nil && !errors.Is(err, errGone) {
				return err
			}
		}
		p.reap()
		left, err := liveWithin(spaces)
		if err != nil {
			return err
		}
		if len(keepers)+left > 0 {
			return retry(fmt.Errorf("%d processes are still there after SIGKILL", len(keepers)+left))
		}
		return nil
	})
}

// keepers finds the live processes that carry the cluster's mark.
func (p *netnsProvider) keepers() ([]procID, error) {
	list, err := pids()
	if err != nil {
		return nil, err
	}
	mark := marker + "=" + p.state.ID
	var found []procID
	for _, pid := range list {
		env, err := os.ReadFile(procPath(pid, "environ"))
		if err != nil || !slices.Contains(splitNUL(env), mark) {
			continue // gone, or not ours
		}
		if id, err := identify(pid); err == nil {
			found = append(found, id)
		}
	}
	return found, nil
}

// liveWithin counts the processes in any of the PID namespaces.
func liveWithin(spaces map[uint64]bool) (int, error) {
	list, err := pids()
	if err != nil {
		return 0, err
	}
	left := 0
	for _, pid := range list {
		var st unix.Stat_t
		if unix.Stat(procPath(pid, "ns/pid"), &st) != nil || !spaces[st.Ino] {
			continue
		}
		if holdsNamespaces(pid) {
			left++
		}
	}
	return left, nil
}

// reap collects those of our children that have ended.
func (p *netnsProvider) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.children[:0]
	for _, pid := range p.children {
		if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); got == 0 && err == nil {
			kept = append(kept, pid)
		}
	}
	p.children = kept
}

// kill implements provider. One kill(2) of everything is atomic: nothing can
// fork its way out of it. The shell that calls it ends by itself.
func (p *netnsProvider) kill(n *Node) error {
	cmd := exec.Command("/bin/sh", "-c", "kill -9 -1")
	cmd.Dir = "/"
	if err := p.startIn(n, cmd); err != nil {
		return err
	}
	// Its status says only whether there was anybody to kill.
	_ = cmd.Wait()
	return awaitEmpty(p.state, n)
}

// awaitEmpty waits until nothing of a killed node is left but its process 1.
func awaitEmpty(s *state, n *Node) error {
	if err := os.RemoveAll(nodeFiles(s.Config.Dir, n.Name).sshdPID()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	return poll(ctx, func() error {
		left, err := processesOf(n.Init)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return retry(fmt.Errorf("%d processes are still there after SIGKILL", len(left)))
		}
		return nil
	})
}

// processes implements provider.
func (p *netnsProvider) processes(n *Node) ([]Proc, error) { return processesOf(n.Init) }

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// onThread runs f on an operating-system thread of its own, which ends with
// it. f may move that thread into other namespaces: processes that it starts then live
// there and are still children of this process, so that no helper program stands
// between a caller and its command.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() { // ends with f; the receive below waits for it
		runtime.LockOSThread() // for good: the thread is of no further use
		if unix.Gettid() == os.Getpid() {
			// The main thread never ends, and /proc shows it as this process: leave it
			// as it is and use another.
			done <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

// allNamespaces are the namespaces that make a node.
const allNamespaces = unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWPID

// enter moves the current thread, which must be locked, into the given
// namespaces of a process. Of a PID namespace only its future children are.
func enter(p procID, namespaces int) error {
	fd, err := p.open()
	if err != nil {
		return err
	}
	defer closeFD(fd)
	if namespaces&unix.CLONE_NEWNS != 0 {
		// Threads share their root and working directory, and the kernel
		// moves only a thread with its own to another mount namespace.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("unshare working directory: %w", err)
		}
	}
	if err := unix.Setns(fd, namespaces); errors.Is(err, unix.ESRCH) {
		return errGone // it is about to be
	} else if err != nil {
		return fmt.Errorf("enter namespaces: %w", err)
	}
	return nil
}

// runIn executes cmd in the given namespaces of a process and waits for it. If it
// fails, the error has its output.
func runIn(p procID, namespaces int, cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := onThread(func() error {
		if err := enter(p, namespaces); err != nil {
			return err
		}
		return cmd.Start()
	})
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s: %w%s", filepath.Base(cmd.Path), err, quote(out.Bytes()))
	}
	return nil
}

// quote returns the end of a program's output as an addition to an error
// message about it.
func quote(output []byte) string {
	const most = 600
	output = bytes.TrimSpace(output[max(0, len(output)-most):])
	if len(output) == 0 {
		return ""
	}
	return ": " + strings.ReplaceAll(string(output), "\n", "; ")
}

// start implements provider.
func (p *netnsProvider) start(n *Node, cmd *Cmd) error {
	if cmd.err != nil {
		return cmd.err
	}
	if cmd.Dir == "" {
		cmd.Dir = p.workingDir(n)
	}
	if p.state.Config.User != Root {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: userID, Gid: userID}
	}
	if err := p.startIn(n, cmd.Cmd); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	return nil
}

// startIn starts cmd in all namespaces and in the cgroup of n, but for that which
// bounds memory: a look at a node that is short of memory needs some.
func (p *netnsProvider) startIn(n *Node, cmd *exec.Cmd) error {
	return p.startAfter(n, cmd, p.enterFreezer)
}

// startBound starts cmd as startIn does, and in the node's memory cgroup.
func (p *netnsProvider) startBound(n *Node, cmd *exec.Cmd) error {
	return p.startAfter(n, cmd, func(n *Node) error { return errors.Join(p.enterFreezer(n), p.enterMemory(n)) })
}

// startAfter does so when the thread that becomes the command has entered cgroups.
func (p *netnsProvider) startAfter(n *Node, cmd *exec.Cmd, entered func(*Node) error) error {
	if _, err := pidNamespaceOf(n.Init); err != nil {
		return err
	}
	cgroup, err := p.openCgroup(n)
	if err != nil {
		return err
	}
	defer cgroup.Close()
	cgroup.use(cmd)
	cmd.Err = nil
	return onThread(func() error {
		if err := entered(n); err != nil {
			return err
		}
		if err := enter(n.Init, allNamespaces); err != nil {
			return err
		}
		return cmd.Start()
	})
}

// workingDir is the caller's directory if the node has it, else its home.
func (p *netnsProvider) workingDir(n *Node) string {
	home := nodeFiles(p.state.Config.Dir, n.Name).home()
	dir, err := os.Getwd()
	if err != nil {
		return home
	}
	ours, err1 := os.Stat(dir)
	theirs, err2 := os.Stat("/proc/" + strconv.Itoa(n.Init.PID) + "/root" + dir)
	if err1 != nil || err2 != nil || !os.SameFile(ours, theirs) {
		return home
	}
	return dir
}

// closeFD closes a descriptor that was only looked at or mounted from: there is
// nothing that could be lost.
func closeFD(fd int) { _ = unix.Close(fd) }

// cgroupDir is an open cgroup directory, or nil where there are no cgroups.
type cgroupDir struct{ *os.File }

func (p *netnsProvider) openCgroup(n *Node) (cgroupDir, error) {
	if p.state.Cgroup == "" {
		return cgroupDir{}, nil
	}
	f, err := os.Open(p.cgroupOf(n))
	if err != nil {
		return cgroupDir{}, fmt.Errorf("cgroup: %w", err)
	}
	return cgroupDir{f}, nil
}

// use makes cmd start in the cgroup, beside its other attributes.
func (c cgroupDir) use(cmd *exec.Cmd) {
	if c.File == nil {
		return
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD = true
	cmd.SysProcAttr.CgroupFD = int(c.Fd())
}

func (c cgroupDir) Close() {
	if c.File != nil {
		c.File.Close()
	}
}

var errGone = errors.New("its process 1 is gone; take the cluster down and make it anew")

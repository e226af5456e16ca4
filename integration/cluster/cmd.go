package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Cmd is a command to run on a node. It is used like the exec.Cmd in it:
// fields are set there, and Start, Run, Output and CombinedOutput of this type
// run it on the node. Under provider netns, Process is the command itself, by
// its PID on the host, so that a signal reaches it.
type Cmd struct {
	*exec.Cmd
	node    *Node
	err     error // of looking the program up
	start   func(*Node, *Cmd) error
	started bool

	signal  func(syscall.Signal) error // nil: Process is the command
	cleanup func()                     // after Wait; may be nil
}

var errWrongStart = errors.New("start a cluster command through cluster.Cmd: exec.Cmd would run it on the host")

// Command prepares a command for a node; see CommandContext.
func (c *Cluster) Command(node string, argv ...string) *Cmd {
	return c.CommandContext(context.Background(), node, argv...)
}

// CommandContext prepares a command for a node, Head or Outside; it is killed
// when ctx ends. It runs as Config.User in the caller's working directory if the node
// has that, else in the node's home, and with a clean environment, to which
// the caller may append: PATH (the caller's), HOME, USER, LOGNAME, SHELL, and
// TERM and LANG where set. An unknown node or an empty argv is reported by
// Start.
func (c *Cluster) CommandContext(ctx context.Context, node string, argv ...string) *Cmd {
	if len(argv) == 0 {
		argv = []string{""}
	}
	e := exec.CommandContext(ctx, c.program(argv[0]), argv[1:]...)
	cmd := &Cmd{Cmd: e, start: c.provider.start, err: e.Err}
	if argv[0] == "" {
		cmd.err = errors.New("no command given")
	}
	e.Err = errWrongStart
	n, err := c.state.node(node)
	if err != nil {
		cmd.err = err
		return cmd
	}
	cmd.node = n
	e.Env = cleanEnv(c.state.Config.User, nodeFiles(c.Dir(), n.Name).home())
	if c.state.Config.Slurm {
		e.Env = append(e.Env, slurmEnv(c.Dir()))
	}
	if c.state.Config.GridEngine {
		e.Env = append(e.Env, gridEngineEnv(c.Dir())...)
	}
	return cmd
}

func cleanEnv(user, home string) []string {
	env := []string{"HOME=" + home, "USER=" + user, "LOGNAME=" + user, "SHELL=/bin/sh"}
	for _, name := range []string{"PATH", "TERM", "LANG"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Start starts the command on its node.
func (c *Cmd) Start() error {
	if c.started {
		return errors.New("cluster command already started")
	}
	if c.node == nil {
		return c.err
	}
	c.started = true
	return c.start(c.node, c)
}

// Wait waits for the command, as exec.Cmd's.
func (c *Cmd) Wait() error {
	err := c.Cmd.Wait()
	if c.cleanup != nil {
		c.cleanup()
	}
	return err
}

// Signal sends a signal to the command itself, also where Process is only its
// client. It returns os.ErrProcessDone if the command has ended.
func (c *Cmd) Signal(sig syscall.Signal) error {
	if c.Process == nil {
		return errors.New("cluster command not started")
	}
	if c.signal != nil {
		return c.signal(sig)
	}
	return c.Process.Signal(sig)
}

// Run starts the command and waits for it, as exec.Cmd's.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output. If Stderr is nil,
// an *exec.ExitError carries what the command wrote there.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("cluster command: Stdout already set")
	}
	var stdout, stderr bytes.Buffer
	c.Stdout = &stdout
	if c.Stderr == nil {
		c.Stderr = &stderr
	}
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		exit.Stderr = stderr.Bytes()
	}
	return stdout.Bytes(), err
}

// CombinedOutput runs the command and returns its output and error output.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("cluster command: Stdout or Stderr already set")
	}
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	err := c.Run()
	return b.Bytes(), err
}

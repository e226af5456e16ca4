package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// pidScript runs a command in a container and leaves its PID there in a file
// first, for the engine's client hands no signals on.
const pidScript = `echo $$ >"$0" && exec "$@"`

// start implements provider: the command's process here is the engine's
// client, which passes its streams and its status on.
func (p *dockerProvider) start(n *Node, cmd *Cmd) error {
	if cmd.Args[0] == "" {
		return cmd.err
	}
	client, err := findTool("docker")
	if err != nil {
		return err
	}
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	pidFile := nodeFiles(p.state.Config.Dir, n.Name).in("exec-" + hex.EncodeToString(id))
	argv := []string{"docker", "exec", "--interactive", "--workdir", p.workingDir(n, cmd.Dir)}
	if f, ok := cmd.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		argv = append(argv, "--tty")
	}
	for _, e := range containerEnv(cmd.Env) {
		argv = append(argv, "--env", e)
	}
	argv = append(argv, p.container(n), "/bin/sh", "-c", pidScript, pidFile)
	cmd.signal = func(sig syscall.Signal) error { return p.signal(n, pidFile, sig) }
	cmd.Cancel = func() error { return cmd.signal(syscall.SIGKILL) }
	cmd.WaitDelay = engineTimeout
	cmd.cleanup = func() { _ = os.Remove(pidFile) } // goes with the cluster at the latest
	cmd.Path, cmd.Args = client, append(argv, cmd.Args...)
	cmd.Dir, cmd.Env, cmd.Err = "/", nil, nil
	if err := cmd.Cmd.Start(); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	return nil
}

// containerEnv leaves the container its own PATH: the host's means nothing in
// another file system.
func containerEnv(env []string) []string {
	var list []string
	for _, e := range env {
		if e != "PATH="+os.Getenv("PATH") {
			list = append(list, e)
		}
	}
	return list
}

// workingDir is the directory asked for, else the caller's if the container
// has it, else the node's home.
func (p *dockerProvider) workingDir(n *Node, asked string) string {
	if asked != "" {
		return asked
	}
	dir, err := os.Getwd()
	shared := p.state.Workdir
	if err == nil && (dir == shared || strings.HasPrefix(dir, strings.TrimSuffix(shared, "/")+"/")) {
		return dir
	}
	return nodeFiles(p.state.Config.Dir, n.Name).home()
}

// signal sends a signal to a command in a container. The command may not have
// left its PID yet.
func (p *dockerProvider) signal(n *Node, pidFile string, sig syscall.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	var pid string
	err := poll(ctx, func() error {
		b, err := os.ReadFile(pidFile)
		var whole bool
		if pid, whole = strings.CutSuffix(string(b), "\n"); errors.Is(err, fs.ErrNotExist) || err == nil && !whole {
			return retry(errors.New("the command has not started"))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("node %s: signal: %w", n.Name, err)
	}
	if _, err := strconv.Atoi(pid); err != nil {
		return fmt.Errorf("node %s: signal: %w", n.Name, err)
	}
	_, err = docker(ctx, "exec", p.container(n), "/bin/sh", "-c", `kill -"$0" "$1"`, strconv.Itoa(int(sig)), pid)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return os.ErrProcessDone
	}
	return err
}

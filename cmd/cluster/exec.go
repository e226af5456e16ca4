package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/golaunch/golaunch/integration/cluster"
)

// Exit statuses of exec where its command could not be run, as a shell's.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the signal's number
)

func setupExec(fs *pflag.FlagSet) func(env, []string) (int, error) {
	dir := dirFlag(fs)
	return func(e env, args []string) (int, error) {
		if len(args) == 0 {
			return 0, usagef("exec wants a node and a command")
		}
		node, argv := args[0], args[1:]
		if len(argv) > 0 && argv[0] == "--" {
			argv = argv[1:]
		}
		if len(argv) == 0 {
			return 0, usagef("no command given for node %s", node)
		}
		c, err := cluster.Open(*dir)
		if err != nil {
			return 0, err
		}
		if _, err := c.Node(node); err != nil {
			return 0, err
		}
		status, err := execute(c.Command(node, argv...))
		if status != 0 && err != nil {
			report(e.stderr, err)
			err = nil
		}
		return status, err
	}
}

// forwarded are the signals that exec hands to its command.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGCONT,
}

// execute runs a command with our standard streams, hands signals to it and
// returns its exit status.
func execute(cmd *cluster.Cmd) (int, error) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// At a terminal, its keys reach the whole process group, the command
	// included. Otherwise the command has a group of its own, so that a signal
	// sent to our group does not come twice.
	terminal := term.IsTerminal(int(os.Stdin.Fd()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !terminal}
	signals := make(chan os.Signal, 16)
	for _, sig := range forwarded {
		if sig != syscall.SIGHUP || !signal.Ignored(sig) { // as it is under nohup(1)
			signal.Notify(signals, sig)
		}
	}
	if terminal {
		signal.Reset(syscall.SIGTSTP, syscall.SIGCONT)
	}
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return startStatus(err), err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the command; received below
	for {
		select {
		case sig := <-signals:
			if terminal && (sig == syscall.SIGINT || sig == syscall.SIGQUIT) {
				continue
			}
			// An error says that the command has just ended.
			_ = cmd.Signal(sig.(syscall.Signal))
			if sig == syscall.SIGTSTP {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}
		case err := <-ended:
			return endStatus(err)
		}
	}
}

func startStatus(err error) int {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return exitNotExecutable
	}
	return exitFailure
}

func endStatus(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return exitOK, err
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exitSignal + int(ws.Signal()), nil
	}
	return exit.ExitCode(), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/integration/cluster"
)

// Exit statuses of the command itself; exec passes its command's on.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

// env is what a command works with.
type env struct {
	ctx    context.Context // ends with the first SIGINT or SIGTERM, except in exec
	stdout io.Writer
	stderr io.Writer
}

// command is one subcommand.
type command struct {
	name, args, help string
	// setup registers flags and returns what to do with the arguments; the
	// result is the exit status where there is no error.
	setup func(fs *pflag.FlagSet) func(e env, args []string) (int, error)
}

func commands() []command {
	return []command{
		{"up", "N", "make a cluster of nodes n001 to N, and head and outside", setupUp},
		{"exec", "NODE -- COMMAND...", "run a command on a node, head or outside", setupExec},
		{"kill", "NODE...", "end all processes of nodes at once, sshd too", perNode(
			func(_ context.Context, c *cluster.Cluster, node string) error { return c.Kill(node) })},
		{"revive", "NODE...", "start sshd on killed nodes again", perNode(
			func(ctx context.Context, c *cluster.Cluster, node string) error { return c.Revive(ctx, node) })},
		{"partition", "NODE...", "cut nodes from the network; peers see silence", perNode(
			func(_ context.Context, c *cluster.Cluster, node string) error { return c.Partition(node) })},
		{"heal", "NODE...", "undo partition", perNode(
			func(_ context.Context, c *cluster.Cluster, node string) error { return c.Heal(node) })},
		{"slow", "NODE SECONDS", "make a node's sshd answer late; 0 undoes it", setupSlow},
		{"image", "", "build the image that docker nodes run, unless it is there", setupImage},
		{"down", "", "end the cluster and remove all of it", setupDown},
	}
}

// run executes a command line and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return report(stderr, usagef("no command given"))
	}
	if args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
		fmt.Fprint(stdout, overview())
		return exitOK
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		return report(stderr, usagef("no command %q", args[0]))
	}
	return all[i].run(args[1:], stdout, stderr)
}

func (c command) run(args []string, stdout, stderr io.Writer) int {
	fs := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetInterspersed(c.name != "exec")
	fs.Usage = func() {}
	fs.SetOutput(io.Discard)
	act := c.setup(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(stdout, "usage: cluster %s\n\n%s\n\n%s", c.synopsis(), c.help, fs.FlagUsages())
		return exitOK
	case err != nil:
		return report(stderr, usageError{err})
	}
	e := env{ctx: context.Background(), stdout: stdout, stderr: stderr}
	if c.name != "exec" { // which hands its signals on
		ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		e.ctx = ctx
	}
	status, err := act(e, fs.Args())
	if err != nil {
		return report(stderr, err)
	}
	return status
}

func (c command) synopsis() string {
	return strings.TrimSpace(c.name + " [flags] " + c.args)
}

// report prints an error in one line and returns its exit status.
func report(stderr io.Writer, err error) int {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(stderr, "cluster: %s (try 'cluster --help')\n", text)
		return exitUsage
	}
	fmt.Fprintf(stderr, "cluster: %s\n", text)
	return exitFailure
}

func overview() string {
	var b strings.Builder
	b.WriteString("usage: cluster COMMAND [flags] [arguments]\n\nA test cluster on this machine.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-24s %s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	b.WriteString(`
Then, for example:

  cluster exec head -- bin/golaunch -f DIR/hosts --ssh-config DIR/ssh_config hostname

'cluster COMMAND --help' lists the flags of a command.

exit status: exec passes its command's on, 128 plus the number of a signal that
ended it, 126 and 127 if it cannot be run or found; otherwise 0, 1 for an error
and 2 for a mistake on the command line.
`)
	return b.String()
}

func dirFlag(fs *pflag.FlagSet) *string {
	return fs.String("dir", cluster.DefaultDir(), "directory of the cluster")
}

// perNode is a command that does something to each of the nodes named.
func perNode(do func(context.Context, *cluster.Cluster, string) error) func(*pflag.FlagSet) func(env, []string) (int, error) {
	return func(fs *pflag.FlagSet) func(env, []string) (int, error) {
		dir := dirFlag(fs)
		return func(e env, nodes []string) (int, error) {
			if len(nodes) == 0 {
				return 0, usagef("no node given")
			}
			c, err := cluster.Open(*dir)
			if err != nil {
				return 0, err
			}
			for _, node := range nodes {
				if err := do(e.ctx, c, node); err != nil {
					return 0, err
				}
			}
			return exitOK, nil
		}
	}
}

func setupSlow(fs *pflag.FlagSet) func(env, []string) (int, error) {
	dir := dirFlag(fs)
	return func(_ env, args []string) (int, error) {
		if len(args) != 2 {
			return 0, usagef("slow wants a node and a number of seconds")
		}
		seconds, err := strconv.ParseFloat(args[1], 64)
		if err != nil || !(seconds >= 0 && seconds <= 3600) {
			return 0, usagef("%q is not a number of seconds from 0 to 3600", args[1])
		}
		c, err := cluster.Open(*dir)
		if err != nil {
			return 0, err
		}
		return exitOK, c.Slow(args[0], time.Duration(seconds*float64(time.Second)))
	}
}

func setupDown(fs *pflag.FlagSet) func(env, []string) (int, error) {
	dir := dirFlag(fs)
	return func(e env, args []string) (int, error) {
		if len(args) != 0 {
			return 0, usagef("down wants no arguments, not %q", args)
		}
		return exitOK, cluster.DownDir(e.ctx, *dir)
	}
}

func setupImage(fs *pflag.FlagSet) func(env, []string) (int, error) {
	where := fs.Bool("where-possible", false, "no container engine here is no error")
	return func(e env, args []string) (int, error) {
		if len(args) != 0 {
			return 0, usagef("image wants no arguments, not %q", args)
		}
		if err := cluster.EngineUnavailable(); err != nil && *where {
			fmt.Fprintf(e.stdout, "no image of container nodes: %v\n", err)
			return exitOK, nil
		}
		return exitOK, cluster.BuildImage(e.ctx, e.stderr)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
)

// command is one subcommand. Help, completion and man pages come from it.
type command struct {
	name  string
	usage string // the command line after "golaunch"
	help  string // its purpose, in one line
	// head and tail are the text of its help before and after the flags.
	head, tail func() string
	// words returns the words for its arguments; nil where they are files, or of run the
	// program and its own.
	words func() []string
	// setup returns its flags, and the action for the words that follow its name.
	setup func() (*pflag.FlagSet, action)
}

// action carries out a command and returns the exit status. An error is a
// mistake on the command line or in a file that it names, unless it is of job.Exit.
type action func(e env, words []string) (int, error)

// env has the streams and launcher of a command.
type env struct {
	ctx    context.Context
	stdio  launcher.IO
	launch launchFunc
}

// launchFunc carries out a job: launcher.Run.
type launchFunc func(context.Context, launcher.Options, launcher.IO) int

// defaultCommand is meant where none is named.
const defaultCommand = "run"

// commands is the table of subcommands.
func commands() []command {
	return []command{
		{defaultCommand, runUsage, "start a program, as golaunch does where no command is named", runHead, runTail, nil, setupRun},
		{"topo", topoUsage(), "tell of the network between hosts: its levels, routes, a good order of hosts", topoHead, noText, topoVerbs().names, setupTopo},
		{"netsim", netsimUsage(), "tell what collective operations cost on a network", netsimHead, noText, netsimWords, setupNetsim},
		{"xrcsim", xrcsimUsage, "tell how many InfiniBand queue pairs a job needs, and their memory", xrcsimHead, noText, noWords, setupXrcsim},
		{"sched", schedUsage(), "simulate a resource manager that regards shared links", schedHead, noText, schedVerbs().names, setupSched},
		{"report", reportUsage, "show what profiles, run reports, traces and simulations hold, in one HTML page", reportHead, noText, nil, setupReport},
		{"doctor", doctorUsage, "say what would fail on hosts, before a job does", doctorHead, noText, nil, setupDoctor},
		{"completion", "completion bash|zsh|fish", "print the script by which a shell completes golaunch's command line", completionHead, noText, shellNames, setupCompletion},
		{"help", "help [WORD]", "tell of a command, a flag or a topic", helpHead, noText, helpWords, setupHelp},
	}
}

func noText() string { return "" }

// noWords returns those of a command that takes flags alone.
func noWords() []string { return nil }

// run carries out golaunch from its arguments to its exit status. A command is the
// first argument; else all of them are those of run.
func run(ctx context.Context, args []string, stdio launcher.IO, launch launchFunc) int {
	name := defaultCommand
	if len(args) > 0 && findCommand(args[0]) != nil {
		name, args = args[0], args[1:]
	}
	_, act := findCommand(name).setup()
	status, err := act(env{ctx, stdio, launch}, args)
	if err != nil {
		return end(stdio.Stderr, err)
	}
	return status
}

// findCommand returns the command of a name, nil if there is none.
func findCommand(name string) *command {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// commandNames returns the words by which commands are called.
func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// parsed is the action of a command whose words are flags, as package pflag reads
// them, and arguments. Its help needs neither.
func parsed(name string, f *pflag.FlagSet, act action) action {
	help := f.BoolP("help", "h", false, "print this help")
	return func(e env, words []string) (int, error) {
		err := f.Parse(words)
		if err == nil && *help {
			return e.print(findCommand(name).text(f))
		}
		status := 0
		if err == nil {
			status, err = act(e, f.Args())
		}
		if err != nil && job.ExitOf(err, job.ExitUsage) == job.ExitUsage {
			err = reachedBy(name, err)
			err = seeHelp(fmt.Errorf("%s: %w", name, err), "golaunch help "+name)
		}
		return status, err
	}
}

// print writes text to standard output.
func (e env) print(text string) (status int, err error) {
	if _, err := io.WriteString(e.stdio.Stdout, text); err != nil {
		return 0, job.Exit(job.ExitLauncher, "the output cannot be written: %w", files.Reason(err))
	}
	return 0, nil
}

// oneWord returns the argument of a command that takes just one.
func oneWord(args []string, want string) (string, error) {
	switch len(args) {
	case 0:
		return "", errors.New("say " + want)
	case 1:
		return args[0], nil
	}
	return "", fmt.Errorf("%q is one word too many; say %s", args[1], want)
}

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/job"
)

// version is set by release builds (-ldflags "-X main.version=v1.2.3").
var version string

// versionLine returns the output of --version.
func versionLine() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	if v == "" {
		v = "(devel)"
	}
	return fmt.Sprintf("golaunch %s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

const runUsage = "[FLAG]... PROGRAM [ARG]... [: [-n N] [-x NAME=VALUE] [--wdir DIR] PROGRAM [ARG]...]..."

const runAbout = `Starts the ranks of a parallel program on this machine or on many, which need
nothing but sshd. What follows PROGRAM is its own; a lone ':' begins another
app with a number of ranks, environment and directory of its own.

` + examples + `
Without --hosts and --hostfile, the hosts of an allocation (Slurm, PBS, LSF, Grid
Engine, Cobalt, OAR, LoadLeveler, PJM) are used, else this machine. golaunch
understands lines of srun, mpiexec, mpirun, mpirun_rsh and torchrun, as in golaunch srun
-N4 -n8 ./app, and names the replacement of flags that it lacks: golaunch help launchers.

Commands:
`

const examples = `  golaunch -n 4 ./app                     four ranks here
  golaunch -H 'n[001-128]:16' ./app       sixteen on each of 128 hosts
  golaunch -f hosts -n 100 -x DEBUG=1 ./app -v
  golaunch -n 1 ./head : -n 8 ./worker
  golaunch -n 2 -H a ./server : -n 4 -H b,c ./client
`

const commandRule = `
A command is the first word, before any flag. To start a program of such a name, say
golaunch -- NAME or golaunch ./NAME.
`

const valueRules = `TIME is 10 (seconds), 500ms or 2m. A value that begins with a dash needs =, as in
--out=-x; only -x, -env and -genv take it as a word of its own. A flag that is not given
takes its value from GOLAUNCH_<FLAG>, as in GOLAUNCH_CONNECT_TIMEOUT=5s; --env, --genv
and --stage have no variable. --timeout also has MPIEXEC_TIMEOUT, in seconds.
`

// groupNone is the group of flags of commands with few.
const groupNone = "Flags"

// runHead stands before the flags in the help of run.
func runHead() string {
	var b strings.Builder
	b.WriteString(runAbout)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s  %s\n", c.name, c.help)
	}
	b.WriteString(commandRule)
	return b.String()
}

// usedMost are the flags of usageText, in its order.
var usedMost = []string{
	"np", "hosts", "hostfile", "ppn", "env", "wdir", "stdin", "label", "out", "unbuffered", "bind-to", "gpus-per-rank", "timeout", "dry-run", "verbose",
}

const usageHead = `Usage: golaunch [FLAG]... PROGRAM [ARG]... [: [-n N] PROGRAM [ARG]...]...

  golaunch -n 4 ./app                  four ranks here
  golaunch -H 'n[001-128]:16' ./app    sixteen on each of 128 hosts
  golaunch -f hosts -n 100 ./app       on the hosts of a file
  golaunch srun -N4 -n8 ./app          a line of srun, mpiexec, mpirun, mpirun_rsh or torchrun

`

const usageTail = `
All flags, commands and exit statuses: golaunch --help. More: golaunch help WORD, as in
golaunch help output, of a flag, a command or a topic (golaunch help help); man golaunch.
`

// usageText returns the page for the first day.
func usageText(f *pflag.FlagSet) string {
	width := 0
	for _, name := range usedMost {
		width = max(width, len(flagColumn(f.Lookup(name))))
	}
	var b strings.Builder
	b.WriteString(usageHead)
	for _, name := range usedMost {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, flagColumn(f.Lookup(name)), purpose(f.Lookup(name)))
	}
	b.WriteString(usageTail)
	return b.String()
}

// runTail stands after them.
func runTail() string { return "\n" + valueRules + "\nExit status:\n" + statusText() }

func statusText() string {
	var b strings.Builder
	for _, s := range job.ExitStatuses() {
		fmt.Fprintf(&b, "  %-5s  %s\n", s.Code, s.Text)
	}
	return b.String()
}

// text returns the help of a command with these flags.
func (c command) text(f *pflag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: golaunch %s\n\n%s", c.usage, c.head())
	for _, group := range append([]string{groupNone}, cmdline.Groups()...) {
		if text := groupText(f, group); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", group, text)
		}
	}
	b.WriteString(c.tail())
	return b.String()
}

// groupText lists the flags of a group, "" if it has none.
func groupText(f *pflag.FlagSet, group string) string {
	width := 0
	flags.EachShown(f, func(f *pflag.Flag) { width = max(width, len(flagColumn(f))) })
	var b strings.Builder
	flags.EachShown(f, func(f *pflag.Flag) {
		if groupOf(f) == group {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, flagColumn(f), purpose(f))
		}
	})
	return b.String()
}

// groupOf returns the group of a flag in the help.
func groupOf(f *pflag.Flag) string {
	if g := f.Annotations[flags.GroupKey]; g != nil {
		return g[0]
	}
	return groupNone
}

// flagColumn renders a flag's names and value.
func flagColumn(f *pflag.Flag) string {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	if f.NoOptDefVal == "" {
		value, _ := pflag.UnquoteUsage(f)
		name += " " + value
	}
	return name
}

// purpose describes a flag, with its default.
func purpose(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if f.NoOptDefVal == "" && f.DefValue != "" {
		text += " (default " + f.DefValue + ")"
	}
	return text
}

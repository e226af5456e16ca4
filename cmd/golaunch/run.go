package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher/singleton"
)

// setupRun sets up the command that runs a job.
func setupRun() (*pflag.FlagSet, action) { return cmdline.Flags(), runJob }

// runJob carries out the job of a command line.
func runJob(e env, words []string) (int, error) {
	held, err := holdWords(words, machine.Here(e.stdio.Stderr))
	if err != nil {
		return 0, seeHelp(err, "golaunch --help")
	}
	switch held.Page() {
	case cmdline.PageHelp:
		return e.print(findCommand(defaultCommand).text(cmdline.Flags()))
	case cmdline.PageUsage:
		return e.print(usageText(cmdline.Flags()))
	case cmdline.PageVersion:
		return e.print(versionLine() + "\n")
	case cmdline.PageMPI:
		return e.print(cmdline.MPIList())
	}
	if err := held.Check(); err != nil {
		return 0, err
	}
	w := e.stdio.Stderr
	if held.Quiet() {
		w = io.Discard
	}
	tell := teller(w, held)
	m := machine.Here(w)
	network, err := findNetwork(w, held.Network(), m, held.Quiet(), tell)
	if err != nil {
		return 0, err
	}
	settled, err := held.Settle(m)
	tellAll(tell, settled.Notes)
	if err != nil {
		return 0, err
	}
	o := settled.Options(m)
	o.Hosts.Network = network
	status := e.launch(e.ctx, o, e.stdio)
	if status == job.ExitNotFound {
		tellCommand(tell, o.Programs.Apps[0].Argv[0], words[0])
	}
	return status, nil
}

// teller returns a Teller that writes the lines of the line's --verbose.
func teller(w io.Writer, held cmdline.Held) cmdline.Teller {
	return func(level int, format string, args ...any) {
		if held.Verbose() >= level && !held.Quiet() {
			fmt.Fprintf(w, "golaunch: "+format+"\n", args...)
		}
	}
}

// tellAll writes notes.
func tellAll(tell cmdline.Teller, notes []cmdline.Note) {
	for _, note := range notes {
		tell(note.Level, "%s", note.Text)
	}
}

// tellCommand says that a program which was not found may be meant as a command of
// golaunch's. First is the first word of the line.
func tellCommand(tell cmdline.Teller, program, first string) {
	if findCommand(program) != nil {
		tell(0, "%s is a command of golaunch's where it is the first word: golaunch %s [FLAG]...", program, program)
	} else if near := flags.Nearest(commandNames(), program); near != "" && program == first {
		tell(0, "is the command %s meant? golaunch %[1]s [FLAG]...", near)
	}
}

// holdWords settles the precedence of a command line, which may be that of an MPI program that
// wants its process manager.
func holdWords(args []string, m machine.Machine) (cmdline.Held, error) {
	self, err := os.Executable()
	if err != nil {
		return cmdline.Held{}, fmt.Errorf("own executable: %w", err)
	}
	words, err := singleton.Args(args, self)
	if err != nil {
		return cmdline.Held{}, err
	}
	said, err := cmdline.Parse(words, m)
	if err != nil {
		return cmdline.Held{}, err
	}
	said.Singleton = len(words) > len(args)
	return said.Hold(m)
}

// end prints err as one line, with any bytes in the arguments, and returns the exit
// status; several answers are a line each.
func end(w io.Writer, err error) int {
	text := err.Error()
	if _, ok := errors.AsType[dialects.Answers](err); !ok {
		text = flags.Printable(text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(w, "golaunch: %s\n", line)
	}
	return job.ExitOf(err, job.ExitUsage)
}

// seeHelp adds the way to help to an error, unless it asks a question.
func seeHelp(err error, command string) error {
	if strings.HasSuffix(err.Error(), "?") {
		return err
	}
	return fmt.Errorf("%w; try '%s'", err, command)
}

// holdOwn settles the precedence of a line of golaunch's own.
func holdOwn(words []string, m machine.Machine) (cmdline.Held, error) {
	said, err := cmdline.Parse(words, m)
	if err != nil {
		return cmdline.Held{}, err
	}
	return said.Hold(m)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/launcher/singleton"
)

// setupRun is the command that runs a job.
func setupRun() (*pflag.FlagSet, action) {
	c := newCommandLine(os.Environ())
	return c.flags, c.run
}

// run carries out the job that the words say.
func (c *commandLine) run(e env, words []string) (int, error) {
	if err := c.parseOrSingleton(words); err != nil {
		return 0, seeHelp(err, "golaunch --help")
	}
	switch {
	case c.help:
		return e.print(findCommand(defaultCommand).text(c.flags)), nil
	case c.usage:
		return e.print(usageText(c.flags)), nil
	case c.version:
		return e.print(versionLine() + "\n"), nil
	case c.listMPI:
		return e.print(mpiList()), nil
	}
	w := e.stdio.Stderr
	if c.Report.Quiet {
		w = io.Discard
	}
	if err := c.slurmDistribution(w); err != nil {
		return 0, err
	}
	rule, value, err := c.rule()
	if err != nil {
		return 0, err
	}
	for _, note := range c.notes {
		c.tell(w, 1, "%s", printable(note))
	}
	network, err := c.findNetwork(w)
	if err != nil {
		return 0, err
	}
	o, err := c.options(w)
	if err != nil {
		return 0, err
	}
	o.Hosts.Network = network
	c.tellHabits(w, &o)
	if rule == "" {
		rule = c.habitualRule(&o)
	}
	if o.Placement.Wish, err = c.wish(w, rule, value); err != nil {
		return 0, err
	}
	status := e.launch(e.ctx, o, e.stdio)
	if status == job.ExitNotFound {
		c.tellCommand(w, o.Programs.Apps[0].Argv[0], words[0])
	}
	return status, nil
}

// tellCommand says that a program which was not found may be meant as a command of
// golaunch's. First is the first word of the line.
func (c *commandLine) tellCommand(w io.Writer, program, first string) {
	if findCommand(program) != nil {
		c.tell(w, 0, "%s is a command of golaunch's where it is the first word: golaunch %s [FLAG]...", program, program)
	} else if near := flags.Nearest(commandNames(), program); near != "" && program == first {
		c.tell(w, 0, "is the command %s meant? golaunch %[1]s [FLAG]...", near)
	}
}

// parseOrSingleton reads a command line, which may be that of an MPI program that
// wants its process manager.
func (c *commandLine) parseOrSingleton(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("own executable: %w", err)
	}
	words, err := singleton.Args(args, self)
	if err != nil {
		return err
	}
	c.Programs.Singleton = len(words) > len(args)
	return c.parse(words)
}

// usageError prints err as one line, whatever the arguments held; several answers are a
// line each.
func usageError(w io.Writer, err error) int {
	text := err.Error()
	if _, ok := errors.AsType[answersError](err); !ok {
		text = printable(text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(w, "golaunch: %s\n", line)
	}
	return job.ExitUsage
}

// printable is text for one line of a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// options completes what the flags said with this machine's directory,
// environment and hosts. What takes long is told on w.
func (c *commandLine) options(w io.Writer) (launcher.Options, error) {
	o, err := c.hostless()
	if err != nil {
		return o, err
	}
	if o.Hosts.List, err = c.findHosts(w); err == nil && len(o.Hosts.List) == 0 {
		err = c.wordsAreHosts()
	}
	if err == nil {
		err = c.findOwnHosts(w, o.Programs.Apps)
	}
	if err == nil && len(o.Hosts.List) == 0 && o.Hosts.Nodes > 1 && c.nodesWord != "" && !c.here() {
		err = c.nodesHere(w, o.Hosts.Nodes)
	}
	if err == nil {
		err = c.leaveOut(w, &o)
	}
	if err == nil {
		c.untoldSlots(w, &o)
		err = c.srunNodes(w, &o)
	}
	if len(o.Hosts.List) > 0 {
		o.Hosts.Allocation = c.shared()
	}
	apart := slices.ContainsFunc(o.Programs.Apps, func(a job.App) bool { return len(a.Hosts) > 0 })
	if err != nil || apart || len(o.Hosts.List) == 0 || c.here() {
		return o, err
	}
	if o.Hosts.Nodes > 0 {
		err = onNodes(&o, len(c.hosts) > 0 || c.hostfile != "", c.topology != "" && c.topology != topologyNone)
	}
	return o, err
}

// hostless is options without the hosts.
func (c *commandLine) hostless() (launcher.Options, error) {
	o := c.Options
	if c.given["profile-what"] && c.Report.ProfileFile == "" {
		return o, errors.New("--profile-what: nothing is counted without --profile FILE")
	}
	o.Boot.Environ = c.environ
	var err error
	if o.Programs.Dir, err = os.Getwd(); err != nil {
		return o, fmt.Errorf("the working directory is unusable: %w; change to another", err)
	}
	if !c.envNone {
		o.Programs.Env = environ.Inherited(c.environ)
	} else if o.Launch.EnvFrom = environ.Launcher; c.given["env-from"] {
		return o, errors.New("--env-none and --env-from exclude each other")
	}
	for _, kv := range c.genv {
		o.Programs.EnvGiven = setVariable(o.Programs.EnvGiven, kv)
	}
	for name, value := range registry.Given(o.Boot.Bootstrap, c.environ) {
		if o.Boot.Values[name] == "" {
			o.Boot.Values[name] = value
		}
	}
	return o, nil
}

// findHosts reads the hosts from --hosts, --hostfile or, if none of the flags
// says where to run, a resource manager's allocation.
func (c *commandLine) findHosts(w io.Writer) ([]job.Host, error) {
	hosts, names, err := c.named(w, &c.appFlags)
	c.sequence = names
	if len(hosts) > 0 || err != nil || c.here() {
		return hosts, err
	}
	return c.allocation(w)
}

// findOwnHosts reads the hosts that apps after the first have of their own.
func (c *commandLine) findOwnHosts(w io.Writer, apps []job.App) error {
	for i := range c.further {
		a := &c.further[i]
		if a.hostfile == "-" {
			return fmt.Errorf("app %d: -f -: standard input can be the host file of the first app alone; name a file", i+1)
		}
		hosts, _, err := c.named(w, a)
		if err != nil {
			return fmt.Errorf("app %d: %w", i+1, err)
		}
		apps[i+1].Hosts = hosts
	}
	return nil
}

// named are the hosts of --hosts or --hostfile of an app, none where it has neither, and
// their names, one for each mention.
func (c *commandLine) named(w io.Writer, a *appFlags) (hosts []job.Host, names []string, err error) {
	switch {
	case len(a.hosts) > 0 && a.hostfile != "":
		return nil, nil, errors.New("--hosts and --hostfile exclude each other; name all hosts in one")
	case len(a.hosts) > 0:
		list := strings.Join(a.hosts, ",")
		hosts, names, err = hostlist.ParseNames(list, "-H")
		if err != nil && strings.Contains(list, "/") {
			err = fmt.Errorf("%w; a host file goes with -f", err)
		}
		return hosts, names, err
	case a.hostfile == "":
		return nil, nil, nil
	}
	var file hostlist.File
	err = files.Read(w, a.hostfile, func(r io.Reader) (err error) {
		file, err = hostlist.ParseFile(r, a.hostfile)
		return err
	})
	if err == nil && file.Capped != "" && c.Placement.Oversubscribe {
		err = fmt.Errorf("%s: max_slots forbids --oversubscribe; leave one out", file.Capped)
	}
	return file.Hosts, file.Names, err
}

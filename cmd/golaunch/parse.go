package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
)

// parse reads a command line and the GOLAUNCH_ variables, which count where the
// command line is silent.
func (c *commandLine) parse(args []string) error {
	p, parts, err := c.readPasted(args)
	if err != nil {
		return err
	}
	c.notes, c.lineOf, c.asked, c.timed = p.notes, p.line, p.asked, p.timed
	if err := c.parsePart(c.flags, parts[0]); err != nil {
		return err
	}
	if c.help || c.usage || c.version || c.listMPI {
		return nil
	}
	if err := c.readConfig(); err != nil {
		return err
	}
	if err := c.parseVariables(); err != nil {
		return err
	}
	c.habits()
	if c.flags.Changed("connect-timeout") {
		c.Start.MissAfter = 0 // a time that the user chose holds for every host that is silent
	}
	if c.Boot.Bootstrap == "auto" {
		c.Boot.Bootstrap = ""
	}
	for i, name := range c.genv {
		var err error
		if c.genv[i], err = c.resolveVariable(name); err != nil {
			return fmt.Errorf("--genv: %w", err)
		}
	}
	if err := c.addApp(c.flags, c.appFlags); err != nil {
		return appError(parts, 0, err)
	}
	for i, part := range parts[1:] {
		var a appFlags
		f := flags.New("run")
		a.define(f)
		err := c.parsePart(f, part)
		if err == nil {
			a.inherit(c)
			c.further = append(c.further, a)
			err = c.addApp(f, a)
		}
		if err != nil {
			return appError(parts, i+1, err)
		}
	}
	if p.multiProg {
		return c.usePrograms()
	}
	return nil
}

// usePrograms puts the programs of srun's file in the place of the file, which stands
// where a program does.
func (c *commandLine) usePrograms() error {
	if len(c.Programs.Apps) > 1 || len(c.Programs.Apps[0].Argv) > 1 {
		return fmt.Errorf("--multi-prog: %w", errTwice)
	}
	name := c.Programs.Apps[0].Argv[0]
	list, err := openApps(name, readPrograms)
	if err != nil {
		return fmt.Errorf("--multi-prog: %w", err)
	}
	if c.Programs.Apps, err = programApps(c.Programs.Apps[0], list); err != nil {
		return fmt.Errorf("--multi-prog: %s: %w", name, err)
	}
	return nil
}

// inherit gives an app what GOLAUNCH_ variables say for every app.
func (a *appFlags) inherit(c *commandLine) {
	if a.np == 0 && !c.given["np"] {
		a.np = c.np
	}
	if a.wdir == "" && !c.given["wdir"] {
		a.wdir = c.wdir
	}
}

// splitApps cuts the arguments at each lone colon.
func splitApps(args []string) [][]string {
	parts := [][]string{nil}
	for _, a := range args {
		if a == ":" {
			parts = append(parts, nil)
			continue
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], a)
	}
	return parts
}

// appError tells which app err is about, where there are several.
func appError(parts [][]string, i int, err error) error {
	if len(parts) == 1 {
		return err
	}
	return fmt.Errorf("app %d: %w", i, err)
}

// parsePart parses the flags of one app, which for the first app are all.
func (c *commandLine) parsePart(f *pflag.FlagSet, args []string) error {
	err := f.ParseAll(args, func(flag *pflag.Flag, value string) error {
		if flag.Changed && !flags.Has(flag, flags.RepeatKey) && flag.Value.Type() != "bool" {
			return fmt.Errorf("%s: given twice, as %s and %s", flags.Name(flag), flag.Value, value)
		}
		if f == c.flags {
			c.given[flag.Name] = true
		}
		return flags.Set(f, flag, value, flags.Name(flag))
	})
	return c.flagError(err)
}

// flagError words the errors of package pflag for users.
func (c *commandLine) flagError(err error) error {
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("%s: its value is missing", flags.Name(e.GetFlag()))
	}
	if errors.Is(err, pflag.ErrHelp) { // of a later app, which lacks the flags
		return errors.New("-h and --help are for the whole job; put them before the first program")
	}
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	name := e.GetSpecifiedName()
	if letters := e.GetSpecifiedShortnames(); letters != "" {
		if known := c.flags.ShorthandLookup(name); known != nil {
			return wholeJob(known)
		}
		return c.unknownFlag("-"+letters, letters)
	}
	if known := c.flags.Lookup(name); known != nil {
		return wholeJob(known)
	}
	return c.unknownFlag("--"+name, name)
}

// unknownFlag is the error for a flag, written as word, that does not exist. What
// is meant it asks last.
func (c *commandLine) unknownFlag(word, name string) error {
	stem := strings.TrimRight(name, "0123456789")
	if f := c.flags.Lookup(stem); f != nil && stem != name && f.NoOptDefVal == "" {
		return fmt.Errorf("unknown flag %s; is %s %s meant?", word, strings.TrimSuffix(word, name)+stem, name[len(stem):])
	}
	for _, t := range c.lineOf {
		if whole := t.begunBy(name); whole != "" {
			return fmt.Errorf("unknown flag %s; is --%s meant?", word, whole)
		}
	}
	if near := flags.Nearest(flags.Names(c.flags), name); near != "" {
		return fmt.Errorf("unknown flag %s; is --%s meant?", word, near)
	}
	return fmt.Errorf("unknown flag %s", word)
}

// seeHelp adds to an error where help is, unless it asks what is meant.
func seeHelp(err error, command string) error {
	if strings.HasSuffix(err.Error(), "?") {
		return err
	}
	return fmt.Errorf("%w; try '%s'", err, command)
}

func wholeJob(f *pflag.Flag) error {
	return fmt.Errorf("%s is for the whole job; put it before the first program", flags.Name(f))
}

// mpiVariables are those of MPICH's mpiexec that mean the same as a flag.
var mpiVariables = map[string]string{"timeout": "MPIEXEC_TIMEOUT"}

// parseVariables sets flags that the command line left alone from GOLAUNCH_
// variables, or else mpiVariables; an empty variable counts as unset.
func (c *commandLine) parseVariables() error {
	var err error
	c.flags.VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Changed || flags.Has(f, flags.NoVariable) || c.setAside(f.Name) {
			return
		}
		for _, name := range variablesOf(f) {
			if value := variable(c.environ, name); value != "" {
				err = flags.Set(c.flags, f, value, name)
				return
			}
		}
	})
	return err
}

// setAside tells whether a flag on the command line, or in the file of --config,
// excludes this one, whose variable then does not count.
func (c *commandLine) setAside(name string) bool {
	for _, group := range exclusive {
		if slices.Contains(group, name) && slices.ContainsFunc(group, func(n string) bool { return c.given[n] || c.configured[n] && n != name }) {
			return true
		}
	}
	if name == "nodes" && (c.given["hosts"] || c.given["hostfile"] || c.configured["hosts"] || c.configured["hostfile"]) {
		return true
	}
	if kind, option, ok := registry.Owner(name); ok && option.Own {
		return !registry.Chosen(kind, c.Boot.Bootstrap, c.environ) // meant for when it is
	}
	return (name == "hosts" || name == "hostfile") && c.given["bootstrap"] && c.here()
}

// here tells whether the bootstrap that is asked for is this machine's own.
func (c *commandLine) here() bool {
	kind, _ := registry.Find(c.Boot.Bootstrap) // "" and unknown ones are not
	return kind.Here
}

// variablesOf are the environment variables of a flag; the first that is set counts.
func variablesOf(f *pflag.Flag) []string {
	names := []string{"GOLAUNCH_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))}
	if name, ok := mpiVariables[f.Name]; ok {
		names = append(names, name)
	}
	return names
}

// addApp appends the app whose program and arguments f has left over.
func (c *commandLine) addApp(f *pflag.FlagSet, a appFlags) error {
	if f.NArg() == 0 {
		return errors.New("no program given")
	}
	if f.Arg(0) == "" {
		return errors.New("the program's name is empty")
	}
	if err := c.programIsFlag(f.Arg(0)); err != nil && f.ArgsLenAtDash() != 0 {
		return err
	}
	app := job.App{Argv: f.Args(), N: a.np, Dir: a.wdir, DirGiven: a.wdir != ""}
	for _, arg := range a.env {
		kv, err := c.resolveVariable(arg)
		if err != nil {
			return fmt.Errorf("-x/--env: %w", err)
		}
		app.Env = setVariable(app.Env, kv)
	}
	c.Programs.Apps = append(c.Programs.Apps, app)
	return nil
}

// minusSign looks like a dash, and is none to Unicode.
const minusSign = '\u2212'

// programIsFlag is the error for a word that stands where the program does, and was meant
// for a flag, or for the text of a label.
func (c *commandLine) programIsFlag(program string) error {
	dash, size := utf8.DecodeRuneInString(program)
	switch {
	case dash >= utf8.RuneSelf && (unicode.Is(unicode.Pd, dash) || dash == minusSign) && size < len(program):
		meant := "-" + program[size:]
		if name, _, _ := strings.Cut(program[size:], "="); c.flags.Lookup(name) != nil {
			meant = "-" + meant
		}
		return fmt.Errorf("%s: begins with %U, a dash of text processors; write %s", program, dash, meant)
	case dash == '%' && c.given["label"]:
		return fmt.Errorf("the program is %q; the text of --label goes with =, as in --label='%[1]s'", program)
	}
	return nil
}

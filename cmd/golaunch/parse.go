package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/launcher"
)

// parse reads a command line and the GOLAUNCH_ variables of environ, which
// count where the command line is silent.
func parse(args, environ []string) (*commandLine, error) {
	c := newCommandLine(environ)
	parts := splitApps(args)
	if err := c.parsePart(c.flags, parts[0]); err != nil {
		return nil, err
	}
	if c.help || c.version {
		return c, nil
	}
	if err := c.parseVariables(); err != nil {
		return nil, err
	}
	if c.flags.Changed("connect-timeout") {
		c.MissAfter = 0 // a time that the user chose holds for every host
	}
	if c.Bootstrap == "auto" {
		c.Bootstrap = ""
	}
	for i, name := range c.genv {
		var err error
		if c.genv[i], err = resolveVariable(name, environ); err != nil {
			return nil, fmt.Errorf("--genv: %w", err)
		}
	}
	if err := c.addApp(c.flags, c.appFlags); err != nil {
		return nil, appError(parts, 0, err)
	}
	for i, part := range parts[1:] {
		var a appFlags
		f := newFlagSet()
		a.define(f)
		err := c.parsePart(f, part)
		if err == nil {
			a.inherit(c)
			err = c.addApp(f, a)
		}
		if err != nil {
			return nil, appError(parts, i+1, err)
		}
	}
	return c, nil
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
	args, err := c.translate(args)
	if err != nil {
		return err
	}
	err = f.ParseAll(args, func(flag *pflag.Flag, value string) error {
		if flag.Changed && !has(flag, repeatKey) && flag.Value.Type() != "bool" {
			return fmt.Errorf("%s: given twice, as %s and %s", flagName(flag), flag.Value, value)
		}
		if f == c.flags {
			c.given[flag.Name] = true
		}
		return set(f, flag, value, flagName(flag))
	})
	return c.flagError(err)
}

// set gives a flag its value; the error begins with where it was given.
func set(f *pflag.FlagSet, flag *pflag.Flag, value, where string) error {
	err := f.Set(flag.Name, value)
	if err == nil {
		return nil
	}
	switch flag.Value.Type() {
	case "bool":
		return fmt.Errorf("%s: %q is not true or false", where, value)
	case "count":
		return fmt.Errorf("%s: %q is not a number", where, value)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = e.Unwrap()
	}
	return fmt.Errorf("%s: %w", where, err)
}

// flagError words the errors of package pflag for users.
func (c *commandLine) flagError(err error) error {
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("%s: its value is missing", flagName(e.GetFlag()))
	}
	if errors.Is(err, pflag.ErrHelp) { // of a later app, which lacks the flag
		return wholeJob(c.flags.Lookup("help"))
	}
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	name := e.GetSpecifiedName()
	if e.GetSpecifiedShortnames() != "" {
		return wholeJob(c.flags.ShorthandLookup(name)) // translate let it pass
	}
	if known := c.flags.Lookup(name); known != nil {
		return wholeJob(known)
	}
	return c.unknownFlag("--"+name, name)
}

// unknownFlag is the error for a flag, written as word, that does not exist.
func (c *commandLine) unknownFlag(word, name string) error {
	if near := nearest(c.flags, name); near != "" {
		return fmt.Errorf("unknown flag %s; is --%s meant?", word, near)
	}
	return fmt.Errorf("unknown flag %s", word)
}

func wholeJob(f *pflag.Flag) error {
	return fmt.Errorf("%s is for the whole job; put it before the first program", flagName(f))
}

// flagName is how messages call a flag.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + "/--" + f.Name
	}
	return "--" + f.Name
}

// parseVariables sets flags that the command line left alone from GOLAUNCH_
// variables; an empty variable counts as unset.
func (c *commandLine) parseVariables() error {
	var err error
	c.flags.VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Changed || has(f, noVariable) || c.setAside(f.Name) {
			return
		}
		name := variableName(f)
		if value := variable(c.environ, name); value != "" {
			err = set(c.flags, f, value, name)
		}
	})
	return err
}

// setAside tells whether a flag on the command line excludes this one, whose
// variable then does not count.
func (c *commandLine) setAside(name string) bool {
	for _, group := range exclusive {
		if slices.Contains(group, name) && slices.ContainsFunc(group, func(n string) bool { return c.given[n] }) {
			return true
		}
	}
	if name == "exec-command" || name == "exec-from" {
		return c.Bootstrap != launcher.BootstrapExec // meant for when it is
	}
	return (name == "hosts" || name == "hostfile") && c.given["bootstrap"] && c.Bootstrap == launcher.BootstrapFork
}

// variableName is the environment variable of a flag.
func variableName(f *pflag.Flag) string {
	return "GOLAUNCH_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// addApp appends the app whose program and arguments f has left over.
func (c *commandLine) addApp(f *pflag.FlagSet, a appFlags) error {
	if f.NArg() == 0 {
		return errors.New("no program given")
	}
	if f.Arg(0) == "" {
		return errors.New("the program's name is empty")
	}
	app := job.App{Argv: f.Args(), N: a.np, Dir: a.wdir, DirGiven: a.wdir != ""}
	for _, arg := range a.env {
		kv, err := resolveVariable(arg, c.environ)
		if err != nil {
			return fmt.Errorf("-x/--env: %w", err)
		}
		app.Env = setVariable(app.Env, kv)
	}
	c.Apps = append(c.Apps, app)
	return nil
}

// nearest is the flag that a misspelt name may stand for, "" if none is near.
func nearest(f *pflag.FlagSet, name string) string {
	best, most := "", min(2, len(name)/3)+1
	f.VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < most {
			best, most = f.Name, d
		}
	})
	return best
}

// distance is how many characters to insert, delete or change to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

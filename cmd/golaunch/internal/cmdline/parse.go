package cmdline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
)

// Parse reads a command line, the file of --config that it or a variable names, and the
// GOLAUNCH_ variables. A line that asks for a page has no other statements.
func Parse(words []string, m machine.Machine) (Said, error) {
	v := newValues()
	own := v.flags()
	line, err := dialects.Read(words, own, m)
	if err != nil {
		return Said{}, err
	}
	said := Said{line: line}
	for i, part := range line.Parts {
		f := own
		if i > 0 {
			f = AppFlags()
		}
		app, err := parseApp(f, part, line)
		if i == 0 {
			if said.job, app.own = app.own, nil; err != nil || v.page() != "" {
				return said, err
			}
		}
		if err == nil {
			err = app.check(said.says("label", onLine), own)
		}
		if err != nil {
			return said, dialects.AppError(i, len(line.Parts), err)
		}
		said.apps = append(said.apps, app)
	}
	file, err := readConfig(said.job, line, m)
	if err != nil {
		return said, err
	}
	said.job = slices.Concat(said.job, file, variables(m))
	return said, nil
}

// says reports whether a source has a statement of a flag.
func (s *Said) says(flag string, from source) bool {
	return slices.ContainsFunc(s.job, func(t statement) bool { return t.flag == flag && t.from == from })
}

// parseApp reads the flags of one app, which for the first app are all, and its program.
func parseApp(f *pflag.FlagSet, words []string, line dialects.Line) (app saidApp, err error) {
	err = f.ParseAll(words, func(flag *pflag.Flag, value string) error {
		name := flags.Name(flag)
		if flag.Changed && !flags.Has(flag, flags.RepeatKey) && flag.Value.Type() != "bool" {
			return fmt.Errorf("%s: given twice, as %s and %s", name, flag.Value, value)
		}
		app.own = append(app.own, statement{flag: flag.Name, value: value, from: onLine, name: name})
		return flags.Set(f, flag, value, name)
	})
	app.argv, app.dashed = f.Args(), f.ArgsLenAtDash() == 0
	return app, flagError(err, line)
}

// flagError words the errors of package pflag for users.
func flagError(err error, line dialects.Line) error {
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
	own := Flags()
	name := e.GetSpecifiedName()
	known, word := own.Lookup(name), "--"+name
	if letters := e.GetSpecifiedShortnames(); letters != "" {
		if known, word = nil, "-"+letters; len(name) == 1 {
			known = own.ShorthandLookup(name)
		}
		name = letters
	}
	if known != nil {
		return fmt.Errorf("%s is for the whole job; put it before the first program", flags.Name(known))
	}
	return dialects.Unknown(own, line.Tools, word, name)
}

// check refuses an app that has no program. Labeled says that the line has --label.
func (a *saidApp) check(labeled bool, own *pflag.FlagSet) error {
	switch {
	case len(a.argv) == 0:
		return errors.New("no program given")
	case a.argv[0] == "":
		return errors.New("the program's name is empty")
	case a.dashed:
		return nil
	}
	return programIsFlag(a.argv[0], labeled, own)
}

// minusSign looks like a dash, and is none to Unicode.
const minusSign = '\u2212'

// programIsFlag returns the error for a word in the program's place that was meant for
// a flag, or for the text of a label.
func programIsFlag(program string, labeled bool, own *pflag.FlagSet) error {
	dash, size := utf8.DecodeRuneInString(program)
	switch {
	case dash >= utf8.RuneSelf && (unicode.Is(unicode.Pd, dash) || dash == minusSign) && size < len(program):
		meant := "-" + program[size:]
		if name, _, _ := strings.Cut(program[size:], "="); own.Lookup(name) != nil {
			meant = "-" + meant
		}
		return fmt.Errorf("%s: begins with %U, a dash of text processors; write %s", program, dash, meant)
	case dash == '%' && labeled:
		return fmt.Errorf("the program is %q; the text of --label goes with =, as in --label='%[1]s'", program)
	}
	return nil
}

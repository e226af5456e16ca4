package cmdline

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/lines"
)

// readConfig reads the file that --config on the line, or its variable, names.
func readConfig(line []statement, of dialects.Line, m machine.Machine) ([]statement, error) {
	name := m.Variable(Variables(Flags().Lookup("config"))[0])
	for _, s := range line {
		if s.flag == "config" {
			name = s.value
		}
	}
	switch name {
	case "":
		return nil, nil
	case "-":
		return nil, errors.New("--config: standard input is for other files and the program; give a file")
	}
	var all []statement
	err := m.Read(name, func(r io.Reader) (err error) {
		all, err = parseConfig(r, name, of)
		return err
	})
	return all, err
}

// parseConfig reads a file of flags. A line is a flag, with or without its dashes, and its
// value, after a blank or =, or at once after a letter. A value may be in quotes.
func parseConfig(r io.Reader, name string, of dialects.Line) ([]statement, error) {
	own := Flags()
	said := map[string]bool{}
	var all []statement
	text := lines.New(r, name)
	for text.Next() {
		words := strings.TrimSpace(text.Text())
		if words == "" || words[0] == '#' {
			continue
		}
		f, value, err := configLine(words, own, of)
		if err == nil && said[f.Name] && !flags.Has(f, flags.RepeatKey) {
			err = fmt.Errorf("%s: given twice", flags.Name(f))
		}
		if err != nil {
			return nil, text.Errorf("%w", err)
		}
		said[f.Name] = true
		pos := fmt.Sprintf("%s:%d: ", name, text.Line())
		all = append(all, statement{flag: f.Name, value: value, from: inFile, pos: pos, name: flags.Name(f)})
	}
	return all, text.Err()
}

// configLine reads one line.
func configLine(line string, own *pflag.FlagSet, of dialects.Line) (f *pflag.Flag, value string, err error) {
	name := line
	end := strings.IndexAny(line, " \t=")
	if end >= 0 {
		name, value = line[:end], strings.TrimSpace(line[end:])
		value = unquoted(strings.TrimSpace(strings.TrimPrefix(value, "=")))
	}
	f = configFlag(own, name)
	if f == nil && end < 0 && len(name) > 2 && name[0] == '-' && name[1] != '-' { // -n2
		if f = configFlag(own, name[:2]); f != nil {
			value = name[2:]
		}
	}
	switch {
	case f == nil:
		return nil, "", dialects.Unknown(own, of.Tools, name, strings.TrimLeft(name, "-"))
	case f.Name == "config" || f.Name == "help" || f.Name == "version":
		return nil, "", fmt.Errorf("%s: it goes on the command line", flags.Name(f))
	case f.Name == "env":
		return nil, "", fmt.Errorf("%s is one app's; --genv sets a variable for all", flags.Name(f))
	case value == "" && flags.TakesValue(f):
		return nil, "", fmt.Errorf("%s: its value is missing", flags.Name(f))
	case value == "":
		value = f.NoOptDefVal
	}
	return f, value, nil
}

// unquoted returns a value without the quotes around it, if it has some.
func unquoted(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// configFlag finds the flag of a name, or of a letter, with its dashes or without.
func configFlag(own *pflag.FlagSet, word string) *pflag.Flag {
	name := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	if len(name) == 1 && !strings.HasPrefix(word, "--") {
		return own.ShorthandLookup(name)
	}
	if len(name) < 2 {
		return nil
	}
	return own.Lookup(name)
}

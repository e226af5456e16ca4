package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/lines"
)

// readConfig sets flags that the command line left alone from the file of --config. A
// line is a flag, with or without its dashes, and its value, after a blank or =, or at
// once after a letter. A value may be in quotes.
func (c *commandLine) readConfig() error {
	flag := c.flags.Lookup("config")
	if !flag.Changed && !c.setAside(flag.Name) {
		for _, name := range variablesOf(flag) {
			if value := variable(c.environ, name); value != "" {
				c.configFile = value
			}
		}
	}
	switch c.configFile {
	case "":
		return nil
	case "-":
		return errors.New("--config: standard input is for other files and the program; give a file")
	}
	return files.Read(os.Stderr, c.configFile, func(r io.Reader) error {
		text := lines.New(r, c.configFile)
		for text.Next() {
			if err := c.configLine(text.Text()); err != nil {
				return text.Errorf("%w", err)
			}
		}
		return text.Err()
	})
}

// configLine takes one line of the file.
func (c *commandLine) configLine(line string) error {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	name, value := line, ""
	end := strings.IndexAny(line, " \t=")
	if end >= 0 {
		name, value = line[:end], strings.TrimSpace(line[end:])
		value = unquoted(strings.TrimSpace(strings.TrimPrefix(value, "=")))
	}
	f := c.configFlag(name)
	if f == nil && end < 0 && len(name) > 2 && name[0] == '-' && name[1] != '-' { // -n2
		if f = c.configFlag(name[:2]); f != nil {
			value = name[2:]
		}
	}
	switch {
	case f == nil:
		return c.unknownFlag(name, strings.TrimLeft(name, "-"))
	case f.Name == "config" || f.Name == "help" || f.Name == "version":
		return fmt.Errorf("%s: it goes on the command line", flags.Name(f))
	case f.Name == "env":
		return fmt.Errorf("%s is one app's; --genv sets a variable for all", flags.Name(f))
	case c.configured[f.Name] && !flags.Has(f, flags.RepeatKey):
		return fmt.Errorf("%s: given twice", flags.Name(f))
	case value == "" && f.NoOptDefVal == "":
		return fmt.Errorf("%s: its value is missing", flags.Name(f))
	case value == "":
		value = f.NoOptDefVal
	}
	if c.given[f.Name] || c.setAside(f.Name) {
		return nil
	}
	c.configured[f.Name] = true
	return flags.Set(c.flags, f, value, flags.Name(f))
}

// unquoted is a value without the quotes around it, if it has some.
func unquoted(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// configFlag finds the flag of a name, or of a letter, with its dashes or without.
func (c *commandLine) configFlag(word string) *pflag.Flag {
	name := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	if len(name) == 1 && !strings.HasPrefix(word, "--") {
		return c.flags.ShorthandLookup(name)
	}
	if len(name) < 2 {
		return nil
	}
	return c.flags.Lookup(name)
}

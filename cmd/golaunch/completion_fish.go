package main

import (
	_ "embed" // the script
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

//go:embed completion/golaunch.fish
var fishScript string

// fishCompletion returns the script of fish.
func fishCompletion() string {
	var valued, commands, arguments, flags []string
	for _, p := range places() {
		if p.help != "" {
			commands = append(commands, fmt.Sprintf("complete -c golaunch -n __golaunch_first -x -a %s -d %s", p.name, quoted(p.help)))
		}
		at := "complete -c golaunch -n '__golaunch_at " + p.name + "'"
		if p.words != nil {
			arguments = append(arguments, at+" -x -a "+quoted(strings.Join(p.words, " ")))
		}
		for _, f := range p.flags {
			names := " -l " + f.Name
			if f.Shorthand != "" {
				names += " -s " + f.Shorthand
			}
			_, text := pflag.UnquoteUsage(f)
			flags = append(flags, at+names+fishValue(f)+" -d "+quoted(text))
			if f.NoOptDefVal == "" && p.name != appPlace { // an app's flags are run's as well
				valued = append(append(valued, dashedNames(f)...), "-"+f.Name)
			}
		}
	}
	return fill(fishScript, map[string][]string{
		"@VALUED@":    {strings.Join(valued, " ")},
		"@COMMANDS@":  commands,
		"@ARGUMENTS@": arguments,
		"@FLAGS@":     flags,
	})
}

// fishValue returns the options by which fish completes the value of a flag.
func fishValue(f *pflag.Flag) string {
	switch {
	case f.NoOptDefVal != "":
		return " -f"
	case flags.Has(f, flags.FilesKey):
		return " -r -F"
	case flags.Has(f, flags.DirsKey):
		return " -x -a '(__fish_complete_directories)'"
	case flags.Has(f, flags.ChoicesKey):
		return " -x -a " + quoted(strings.Join(f.Annotations[flags.ChoicesKey], " "))
	}
	return " -x"
}

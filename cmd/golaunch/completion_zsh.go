package main

import (
	_ "embed" // the script
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

//go:embed completion/golaunch.zsh
var zshScript string

// zshCompletion returns the script of zsh.
func zshCompletion() string {
	brackets := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)
	var commands, arguments []string
	for _, p := range places() {
		if p.name == appPlace { // a program's arguments there
			continue
		}
		commands = append(commands, "\t\t"+quoted(p.name+":"+p.help))
		var specs []string
		for _, f := range p.flags {
			_, text := pflag.UnquoteUsage(f)
			rest := "[" + brackets.Replace(text) + "]" + zshValue(f)
			for _, name := range dashedNames(f) {
				if f.NoOptDefVal == "" && strings.HasPrefix(name, "--") {
					name += "=" // or apart
				}
				specs = append(specs, zshRepeat(f)+name+rest)
			}
		}
		pattern, options := p.name, "-s -S :"
		switch {
		case p.words != nil:
			specs = append(specs, "1:word:("+strings.Join(p.words, " ")+")")
		case p.name == defaultCommand:
			pattern, options = "*", `-s -S -A "-*" :`
			specs = append(specs, "(-):program:_command_names -e", "*::argument:_normal")
		default:
			specs = append(specs, "*:file:_files")
		}
		text := "\t" + pattern + ")\n\t\t_arguments " + options
		for _, s := range specs {
			text += " \\\n\t\t\t" + quoted(s)
		}
		arguments = append(arguments, text+"\n\t\t;;")
	}
	slices.Reverse(arguments) // the pattern of all other words comes last
	return fill(zshScript, map[string][]string{"@COMMANDS@": commands, "@ARGUMENTS@": arguments})
}

// zshRepeat marks a flag that may be repeated, or excludes the flag itself.
func zshRepeat(f *pflag.Flag) string {
	if flags.Has(f, flags.RepeatKey) {
		return "*"
	}
	return "(" + strings.Join(dashedNames(f), " ") + ")"
}

// zshValue returns the part of a flag's specification about its value.
func zshValue(f *pflag.Flag) string {
	if f.NoOptDefVal != "" {
		return ""
	}
	value, _ := pflag.UnquoteUsage(f)
	switch {
	case flags.Has(f, flags.FilesKey):
		return ":" + value + ":_files"
	case flags.Has(f, flags.DirsKey):
		return ":" + value + ":_files -/"
	case flags.Has(f, flags.ChoicesKey):
		return ":" + value + ":(" + strings.Join(f.Annotations[flags.ChoicesKey], " ") + ")"
	}
	return ":" + value + ": "
}

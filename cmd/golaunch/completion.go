package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

// shellNames returns the arguments of completion.
func shellNames() []string { return []string{"bash", "zsh", "fish"} }

// completionHead stands before the flags in the help of completion.
func completionHead() string {
	return `Prints a script by which a shell completes golaunch's command line. "make install"
puts it where the shells look; by hand:

  bash: source <(golaunch completion bash)
  zsh:  source <(golaunch completion zsh)      after compinit
  fish: golaunch completion fish | source
`
}

// setupCompletion sets up the command that prints the script of a shell.
func setupCompletion() (*pflag.FlagSet, action) {
	f := flags.New("completion")
	return f, parsed("completion", f, func(e env, args []string) (int, error) {
		const want = "bash, zsh or fish"
		shell, err := oneWord(args, want)
		if err != nil {
			return 0, err
		}
		switch shell {
		case "bash":
			return e.print(bashCompletion())
		case "zsh":
			return e.print(zshCompletion())
		case "fish":
			return e.print(fishCompletion())
		}
		return 0, fmt.Errorf("%q is no shell that it knows; say %s", shell, want)
	})
}

// place is a part of the command line with the same flags and arguments: after a
// command, or after the colon before an app.
type place struct {
	name, help string
	flags      []*pflag.Flag
	words      []string // the arguments; nil for files, or a program
}

// places returns the commands as places, and that of further apps.
func places() []place {
	var all []place
	for _, c := range commands() {
		p := place{name: c.name, help: c.help}
		f, _ := c.setup()
		flags.EachShown(f, func(f *pflag.Flag) { p.flags = append(p.flags, f) })
		if c.words != nil {
			p.words = c.words()
		}
		all = append(all, p)
	}
	app := cmdline.AppFlags()
	p := place{name: appPlace}
	flags.EachShown(app, func(f *pflag.Flag) { p.flags = append(p.flags, f) })
	return append(all, p)
}

// appPlace is the place of the flags of a further app.
const appPlace = "app"

// dashedNames returns the names of a flag as they are typed.
func dashedNames(f *pflag.Flag) []string {
	if f.Shorthand == "" {
		return []string{"--" + f.Name}
	}
	return []string{"-" + f.Shorthand, "--" + f.Name}
}

// fill puts the names of the commands, and each value of parts, into a script.
func fill(script string, parts map[string][]string) string {
	names := commandNames()
	all := []string{"@DEFAULT@", defaultCommand, "@NAMES@", strings.Join(names, " "), "@PATTERN@", strings.Join(names, " | ")}
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, key, strings.Join(parts[key], "\n"))
	}
	return strings.NewReplacer(all...).Replace(script)
}

// quoted returns a text as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

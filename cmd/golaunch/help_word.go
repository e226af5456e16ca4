package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

// topic is a subject of help beside commands and flags.
type topic struct {
	name, help string
	text       func() string
}

// topics returns the parts of the help of run, and its groups of flags.
func topics() []topic {
	all := []topic{
		{"examples", "command lines", func() string { return examples }},
		{"values", "times, and the variables that stand for flags", func() string { return valueRules }},
		{"status", "exit statuses", statusText},
		{"exit", "the same", statusText},
	}
	for _, t := range [][2]string{
		{"hosts", "lists and files of hosts, hosts that are dead; the flags of Hosts"},
		{"placement", "where ranks go: rules, graphs, rank files; the flags of Placement"},
		{"binding", "the CPUs that ranks are bound to, and what --report-bindings says"},
		{"cache", "the policies of --cache, and when to choose which"},
		{"stdin", "who reads standard input"},
		{"output", "labels, equal output folded, files; what becomes of lines"},
		{"signals", "what Ctrl-C and other signals do"},
		{"environment", "variables that golaunch reads, and those of the ranks"},
		{"launchers", "lines of srun, mpiexec, mpirun, mpirun_rsh and torchrun"},
	} {
		all = append(all, topic{t[0], t[1], func() string { return topicText(t[0]) }})
	}
	for _, group := range cmdline.Groups() {
		flags := func() string { return groupText(cmdline.Flags(), group) }
		name := strings.ToLower(strings.ReplaceAll(group, "/", ""))
		if i := slices.IndexFunc(all, func(t topic) bool { return t.name == name }); i >= 0 {
			all[i].text = func() string { return topicText(name) + "\n" + flags() }
			continue
		}
		all = append(all, topic{name, "the flags of " + group, flags})
	}
	return all
}

// helpHead stands before the flags in the help of help.
func helpHead() string {
	var b strings.Builder
	b.WriteString(`Tells of a command, a flag (with dashes or without) or a topic; without WORD of
golaunch as a whole. A WORD that is several of these has them all told.

  golaunch help completion
  golaunch help --cache
  golaunch help signals

Topics:
`)
	for _, t := range topics() {
		fmt.Fprintf(&b, "  %-11s  %s\n", t.name, t.help)
	}
	return b.String()
}

// helpWords returns the words that help knows.
func helpWords() []string {
	var words []string
	for _, c := range commands() {
		f, _ := c.setup()
		words = append(append(words, c.name), flags.Names(f)...)
	}
	for _, t := range topics() {
		words = append(words, t.name)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// setupHelp sets up the command that explains a word.
func setupHelp() (*pflag.FlagSet, action) {
	f := flags.New("help")
	act := parsed("help", f, func(e env, args []string) (int, error) {
		if len(args) == 0 {
			args = []string{defaultCommand}
		}
		word, err := oneWord(args, "one")
		if err != nil {
			return 0, err
		}
		parts := explain(word)
		if len(parts) == 0 {
			err := fmt.Errorf("%q is no command, flag or topic", word)
			if near := flags.Nearest(helpWords(), strings.TrimLeft(word, "-")); near != "" {
				err = fmt.Errorf("%w; is %s meant?", err, near)
			}
			return 0, err
		}
		return e.print(strings.Join(parts, "\n"))
	})
	return f, func(e env, words []string) (int, error) {
		own := []string{"-h", "--help"}
		if len(words) > 0 && strings.HasPrefix(words[0], "-") && !slices.Contains(own, words[0]) {
			words = append([]string{"--"}, words...) // a flag to tell of
		}
		return act(e, words)
	}
}

// alsoCalled are topics by other words for them.
var alsoCalled = map[string]string{"ctrl-c": "signals", "ctrl-z": "signals"}

// explain returns the explanations of a word, as each of the things that it is.
func explain(word string) []string {
	name := strings.TrimLeft(word, "-")
	bare := name == word
	var parts []string
	for _, c := range commands() {
		f, _ := c.setup()
		if bare && c.name == name {
			parts = append(parts, c.text(f))
		}
		flag := f.Lookup(name)
		if flag == nil && len(name) == 1 {
			flag = f.ShorthandLookup(name)
		}
		if flag != nil && (flag.Name != "help" || !bare && c.name == defaultCommand) { // every command has --help
			parts = append(parts, explainFlag(c, flag))
		}
	}
	if foreign := dialects.Explain(word, len(parts) > 0); foreign != "" {
		parts = append(parts, foreign)
	}
	if len(parts) == 0 && bare && len(name) > 1 && !isTopic(name) {
		if foreign := dialects.Explain("--"+name, false); foreign != "" {
			parts = append(parts, foreign)
		}
	}
	for _, t := range topics() {
		other := t.name == alsoCalled[strings.ToLower(name)] || t.name == "launchers" && dialects.IsLauncher(name)
		if bare && (t.name == name || other) {
			parts = append(parts, t.text())
		}
	}
	return parts
}

// isTopic reports whether a word is a topic's, of which flags of other launchers may have
// the name.
func isTopic(name string) bool {
	return dialects.IsLauncher(name) || alsoCalled[strings.ToLower(name)] != "" || slices.ContainsFunc(topics(), func(t topic) bool { return t.name == name })
}

// explainFlag describes a flag of a command and its forms.
func explainFlag(c command, f *pflag.Flag) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(flagColumn(f)))
	if c.name != defaultCommand {
		fmt.Fprintf(&b, " (golaunch %s)", c.name)
	}
	fmt.Fprintf(&b, "\n  %s\n", purpose(f))
	value, _ := pflag.UnquoteUsage(f)
	if words := f.Annotations[flags.ChoicesKey]; words != nil {
		fmt.Fprintf(&b, "  %s: %s\n", value, strings.Join(words, ", "))
		for i, text := range f.Annotations[flags.TellKey] {
			fmt.Fprintf(&b, "    %-11s  %s\n", words[i], text)
		}
	}
	if flags.Has(f, flags.RepeatKey) {
		b.WriteString("  may be given more than once\n")
	}
	if flags.Has(f, flags.AppKey) {
		b.WriteString("  may be given for each app\n")
	}
	if c.name == defaultCommand && !flags.Has(f, flags.NoVariable) {
		fmt.Fprintf(&b, "  where it is not given: %s\n", strings.Join(cmdline.Variables(f), ", then "))
	}
	return b.String()
}

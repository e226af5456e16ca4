package main

import (
	"context"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/launcher/singleton"
)

// Every flag has its place in the help and says what it does.
func TestEveryFlagIsInTheHelp(t *testing.T) {
	f := cmdline.Flags()
	help := findCommand(defaultCommand).text(f)
	flags.EachShown(f, func(f *pflag.Flag) {
		group := f.Annotations[flags.GroupKey]
		require.Len(t, group, 1, f.Name)
		assert.Contains(t, cmdline.Groups(), group[0], f.Name)
		assert.NotEmpty(t, f.Usage, f.Name)
		assert.Contains(t, help, "--"+f.Name)
	})
	for line := range strings.SplitSeq(help, "\n") {
		assert.LessOrEqual(t, len(line), 104, line)
		assert.Equal(t, strings.TrimRight(line, " \t"), line)
	}
}

// Each command is a word that can't be taken for a flag, and is explained in one line.
func TestCommands(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range commands() {
		assert.Regexp(t, `^[a-z]+$`, c.name)
		assert.False(t, seen[c.name], c.name)
		seen[c.name] = true
		assert.False(t, overlay.IsAgent([]string{c.name}), c.name)
		assert.NotContains(t, []string{proc.WardenWord, singleton.Word}, c.name)
		assert.NotContains(t, c.help, "\n", c.name)
		f, act := c.setup()
		assert.NotNil(t, act, c.name)
		assert.NotNil(t, f.Lookup("help"), c.name)
		help := c.text(f)
		assert.True(t, strings.HasPrefix(help, "Usage: golaunch "), c.name)
		assert.Contains(t, findCommand(defaultCommand).text(cmdline.Flags()), "  "+c.name+" ")
		for line := range strings.SplitSeq(help, "\n") {
			assert.LessOrEqual(t, len(line), 104, line)
		}
		flags.EachShown(f, func(f *pflag.Flag) {
			for shell, scriptHas := range map[string]bool{
				"bash": strings.Contains(bashCompletion(), " --"+f.Name),
				"zsh":  strings.Contains(zshCompletion(), "--"+f.Name+"[") || strings.Contains(zshCompletion(), "--"+f.Name+"=["),
				"fish": strings.Contains(fishCompletion(), "'__golaunch_at "+c.name+"' -l "+f.Name+" "),
			} {
				assert.True(t, scriptHas, "%s: --%s of %s", shell, f.Name, c.name)
			}
		})
	}
	assert.True(t, seen[defaultCommand])
}

// A command that stands behind a flag is a program's name; a hint tells of the command.
func TestACommandBehindFlags(t *testing.T) {
	missing := func(context.Context, launcher.Options, launcher.IO) int { return job.ExitNotFound }
	for _, c := range []struct{ line, want string }{
		{"-n 2 doctor", "golaunch: doctor is a command of golaunch's where it is the first word: golaunch doctor [FLAG]...\n"},
		{"-q -n 2 doctor", ""},
		{"-n 2 doctors", ""},
		{"docter -f hosts", "golaunch: is the command doctor meant? golaunch doctor [FLAG]...\n"},
		{"unheard-of", ""},
	} {
		var errs strings.Builder
		require.Equal(t, job.ExitNotFound, run(t.Context(), strings.Fields(c.line), launcher.IO{Stderr: &errs}, missing))
		assert.Equal(t, c.want, errs.String(), c.line)
	}
}

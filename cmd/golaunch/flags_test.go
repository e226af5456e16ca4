package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/launcher/singleton"
)

// Every flag has its place in the help and says what it does.
func TestEveryFlagIsInTheHelp(t *testing.T) {
	f := newCommandLine(nil).flags
	help := findCommand(defaultCommand).text(f)
	flags.EachShown(f, func(f *pflag.Flag) {
		group := f.Annotations[flags.GroupKey]
		require.Len(t, group, 1, f.Name)
		assert.Contains(t, groups, group[0], f.Name)
		assert.NotEmpty(t, f.Usage, f.Name)
		assert.Contains(t, help, "--"+f.Name)
	})
	for line := range strings.SplitSeq(help, "\n") {
		assert.LessOrEqual(t, len(line), 104, line)
		assert.Equal(t, strings.TrimRight(line, " \t"), line)
	}
}

// Whatever the arguments are, they are read as a job or refused; those after
// the first program are never flags.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"-n 4 ./app", "--map-by rankfile:File=a -rf b --rank-by core ./a", "-ppn 2 -hosts a,b ./app -x : -n 1 b", "-genv A B -lvi 3 ./a", "-x=A=1 --np", ": :", "-test.v a", "-N4 -c2 -ul --mpi=pmi2 a", "--nnodes 2 -m a b", "mpirun_rsh -np 2 a b C=1 d", "-rankmap (0,2,2),1 -mca a b c", "mpirun_rsh -np 2 a b -config c ./d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		c := newCommandLine([]string{"A=1", "GOLAUNCH_DEGREE=3"})
		if err := c.parse(args); err != nil || c.help || c.version {
			return
		}
		require.NotEmpty(t, c.Programs.Apps)
		separators := 0
		for _, a := range args {
			if a == ":" {
				separators++
			}
		}
		require.Len(t, c.Programs.Apps, separators+1)
		last := c.Programs.Apps[separators].Argv
		require.NotEmpty(t, last)
		if len(last) > 2 && strings.HasPrefix(last[0], "python") && last[1] == "-u" { // torchrun's interpreter
			last = last[2:]
			if len(last) > 1 && last[0] == "-m" {
				last = last[1:]
			}
		}
		require.Equal(t, args[len(args)-len(last):], last, "the program's arguments are left alone")
	})
}

// The words that completion offers for a flag's value are named in its help;
// golaunch accepts them, and no other word.
func TestChoices(t *testing.T) {
	exec := []string{"--exec-command", "x {command}", "-H", "localhost"}
	with := map[string][]string{ // flags that a value needs
		"docker":   {"-H", "localhost"},
		"podman":   {"-H", "localhost"},
		"kubectl":  {"-H", "localhost"},
		"ssh":      {"-H", "localhost"},
		"slurm":    {"-H", "localhost"},
		"srun":     {"-H", "localhost"},
		"sge":      {"-H", "localhost"},
		"lsf":      {"-H", "localhost"},
		"pbs":      {"-H", "localhost"},
		"exec":     exec,
		"launcher": append(exec, "--bootstrap", "exec"),
		"nodes":    append(exec, "--bootstrap", "exec"),
	}
	check := func(flag, value string, with []string) error {
		c := newCommandLine(nil)
		words := append(slices.Clone(with), "-n", "1", "--"+flag, value)
		if flag == "profile-what" {
			words = append(words, "--profile", "file")
		}
		if err := c.parse(append(words, "./app")); err != nil {
			return err
		}
		o, err := c.options(io.Discard)
		require.NoError(t, err)
		return o.Validate()
	}
	found := 0
	newCommandLine(nil).flags.VisitAll(func(f *pflag.Flag) {
		for _, word := range f.Annotations[flags.ChoicesKey] {
			found++
			assert.Contains(t, f.Usage, word, f.Name)
			if strings.HasSuffix(word, ":") { // any value may follow
				assert.NoError(t, check(f.Name, word+"x", nil), f.Name)
				assert.ErrorContains(t, check(f.Name, word, nil), word, f.Name)
				continue
			}
			assert.NoError(t, check(f.Name, word, with[word]), f.Name)
			assert.ErrorContains(t, check(f.Name, word+"x", with[word]), word+"x", f.Name)
		}
	})
	assert.NotZero(t, found)
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
		assert.Contains(t, findCommand(defaultCommand).text(newCommandLine(nil).flags), "  "+c.name+" ")
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

// A command that stands behind a flag is a program's name; who meant the command is told.
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

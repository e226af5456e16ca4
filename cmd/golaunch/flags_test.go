package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every flag has its place in the help and says what it does.
func TestEveryFlagIsInTheHelp(t *testing.T) {
	f := newCommandLine(nil).flags
	var help strings.Builder
	writeHelp(&help, f)
	f.VisitAll(func(f *pflag.Flag) {
		group := f.Annotations[groupKey]
		require.Len(t, group, 1, f.Name)
		assert.Contains(t, groups, group[0], f.Name)
		assert.NotEmpty(t, f.Usage, f.Name)
		assert.Contains(t, help.String(), "--"+f.Name)
	})
	for line := range strings.SplitSeq(help.String(), "\n") {
		assert.LessOrEqual(t, len(line), 104, line)
		assert.Equal(t, strings.TrimRight(line, " \t"), line)
	}
}

// What the words of other launchers turn into are flags that exist, and every
// answer is one line.
func TestForeignWords(t *testing.T) {
	f := newCommandLine(nil).flags
	var hidden []string
	for word, foreign := range foreignWords {
		assert.False(t, strings.HasPrefix(word, "-"), word)
		if f.Lookup(word) != nil {
			hidden = append(hidden, word)
		}
		flags, answer := foreign.to([]string{"1", "2"}[:foreign.values])
		assert.False(t, len(flags) > 0 && answer != "", word)
		assert.NotContains(t, answer, "\n", word)
		for _, flag := range flags {
			if name, ok := strings.CutPrefix(flag, "--"); ok {
				assert.NotNil(t, f.Lookup(name), "%s means %s", word, flag)
			}
		}
	}
	slices.Sort(hidden)
	assert.Equal(t, []string{"env", "genv"}, hidden, "with one dash these take NAME VALUE, as Hydra's do")
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"hostfile", "host-file", 1}, {"lable", "label", 2}, {"degree", "degree", 0}} {
		assert.Equal(t, c.want, distance(c.a, c.b), c)
	}
}

// Whatever the arguments are, they are read as a job or refused; those after
// the first program are never flags.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"-n 4 ./app", "-ppn 2 -hosts a,b ./app -x : -n 1 b", "-genv A B -lvi 3 ./a", "-x=A=1 --np", ": :", "-test.v a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		c, err := parse(args, []string{"A=1", "GOLAUNCH_DEGREE=3"})
		if err != nil || c.help || c.version {
			return
		}
		require.NotEmpty(t, c.Apps)
		separators := 0
		for _, a := range args {
			if a == ":" {
				separators++
			}
		}
		require.Len(t, c.Apps, separators+1)
		last := c.Apps[separators].Argv
		require.NotEmpty(t, last)
		require.Equal(t, args[len(args)-len(last):], last, "the program's arguments are left alone")
	})
}

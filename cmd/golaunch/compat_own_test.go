package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

// sampleValue is a value that a flag of golaunch takes.
func sampleValue(t require.TestingT, flag *pflag.Flag) string {
	values := append(slices.Clone(flag.Annotations[flags.ChoicesKey]), "1", "all", "K=V", "none")
	if flags.Has(flag, flags.FilesKey) {
		values = []string{"out.%r"}
	}
	for _, value := range values {
		if newCommandLine(nil).flags.Set(flag.Name, value) == nil {
			return value
		}
	}
	require.Fail(t, "no value fits", flag.Name)
	return ""
}

// ownWords are the ways to write a flag of golaunch before a program.
func ownWords(t require.TestingT, flag *pflag.Flag) [][]string {
	names := []string{"--" + flag.Name}
	if flag.Shorthand != "" {
		names = append(names, "-"+flag.Shorthand)
	}
	var ways [][]string
	for _, name := range names {
		if flag.NoOptDefVal != "" {
			ways = append(ways, []string{name})
		} else {
			ways = append(ways, []string{name, sampleValue(t, flag)})
		}
	}
	return ways
}

// Behind golaunch's own flags the first other word is the program, and what follows is the
// program's, whatever flag of another launcher is among it.
func TestArgumentsOfTheProgramDecideNothing(t *testing.T) {
	var foreign []string
	for _, of := range tools {
		for i := range of.rows {
			foreign = append(foreign, of.spelled(&of.rows[i])...)
		}
	}
	slices.Sort(foreign)
	c := newCommandLine([]string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-8]", "SLURM_TASKS_PER_NODE=4(x8)"})
	foreign = slices.Compact(foreign)
	n := 0
	c.flags.VisitAll(func(flag *pflag.Flag) {
		for _, before := range ownWords(t, flag) {
			n++
			for i, word := range foreign {
				if len(before[0]) > 2 && (i+n)%16 != 0 { // of letters, which launchers share, all; of names a sample
					continue
				}
				line := []string{"sh", word, "5", "/bin/hostname"}
				p, parts, err := c.readPasted(slices.Concat(before, line))
				require.NoError(t, err, "%q %q", before, line)
				require.Nil(t, p.line, "%q %q", before, line)
				require.Equal(t, line, parts[0][len(before):], "%q", before)
			}
		}
	})
}

// The value of -q is a QOS where srun's line says so, and no path.
func TestQuietIsNoQOS(t *testing.T) {
	for line, program := range map[string]string{ // in an allocation
		"-q ./app.sh -t 5 /bin/hostname":           "./app.sh -t 5 /bin/hostname",
		"-q sh -c exit":                            "sh -c exit",
		"-t 5 -q ./app.sh -p x /bin/hostname":      "./app.sh -p x /bin/hostname",
		"-t 5 -q high -p x /bin/hostname":          "/bin/hostname",
		"srun -q high /bin/hostname -t 5":          "/bin/hostname -t 5",
		"-p debug -q high --mem 4G -n 2 ./app -np": "./app -np",
	} {
		c := newCommandLine([]string{"SLURM_JOB_ID=7"})
		require.NoError(t, c.parse(strings.Fields(line)), line)
		assert.Equal(t, program, strings.Join(c.Programs.Apps[0].Argv, " "), line)
	}
	c := newCommandLine(nil)
	require.NoError(t, c.parse([]string{"-q", "sh", "-c", "echo hi"}))
	assert.Equal(t, []string{"sh", "-c", "echo hi"}, c.Programs.Apps[0].Argv)
	assert.True(t, c.Report.Quiet)
}

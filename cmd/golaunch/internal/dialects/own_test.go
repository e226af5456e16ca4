package dialects

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine/machinetest"
)

// sampleValue is a value that a flag of golaunch takes.
func sampleValue(t require.TestingT, flag *pflag.Flag) string {
	values := append(slices.Clone(flag.Annotations[flags.ChoicesKey]), "1", "all", "K=V", "none")
	if flags.Has(flag, flags.FilesKey) {
		values = []string{"out.%r"}
	}
	for _, value := range values {
		if Own().Set(flag.Name, value) == nil {
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
	own := Own()
	m := machinetest.New(nil, "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-8]", "SLURM_TASKS_PER_NODE=4(x8)")
	foreign = slices.Compact(foreign)
	n := 0
	own.VisitAll(func(flag *pflag.Flag) {
		for _, before := range ownWords(t, flag) {
			n++
			for i, word := range foreign {
				if len(before[0]) > 2 && (i+n)%16 != 0 { // of letters, which launchers share, all; of names a sample
					continue
				}
				line := []string{"sh", word, "5", "/bin/hostname"}
				read, err := Read(slices.Concat(before, line), own, m)
				require.NoError(t, err, "%q %q", before, line)
				require.Nil(t, read.Tools, "%q %q", before, line)
				require.Equal(t, line, read.Parts[0][len(before):], "%q", before)
			}
		}
	})
}

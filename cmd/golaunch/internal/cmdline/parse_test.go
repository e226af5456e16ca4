package cmdline

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine/machinetest"
)

// hold returns the statements of a line that hold.
func hold(m machine.Machine, words ...string) (Held, error) {
	said, err := Parse(words, m)
	if err != nil {
		return Held{}, err
	}
	return said.Hold(m)
}

// Any arguments are read as a job or refused; those after the first program are never
// flags.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"-n 4 ./app", "--map-by rankfile:File=a -rf b --rank-by core ./a", "-ppn 2 -hosts a,b ./app -x : -n 1 b", "-genv A B -lvi 3 ./a", "-x=A=1 --np", ": :", "-test.v a", "-N4 -c2 -ul --mpi=pmi2 a", "--nnodes 2 -m a b", "mpirun_rsh -np 2 a b C=1 d", "-rankmap (0,2,2),1 -mca a b c", "mpirun_rsh -np 2 a b -config c ./d", "-N1 -c1 -ulxhost", "mpirun_rsh -np 2   -\x8e0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		m := machinetest.New(nil, "A=1", "GOLAUNCH_DEGREE=3")
		h, err := hold(m, args...)
		if err != nil || h.Page() != "" {
			return
		}
		require.NotEmpty(t, h.apps)
		separators := 0
		for _, a := range args {
			if a == ":" {
				separators++
			}
		}
		require.Len(t, h.apps, separators+1)
		last := h.apps[separators].Argv
		require.NotEmpty(t, last)
		if len(last) > 2 && strings.HasPrefix(last[0], "python") && last[1] == "-u" { // torchrun's interpreter
			last = last[2:]
			if len(last) > 1 && last[0] == "-m" {
				last = last[1:]
			}
		}
		require.Equal(t, args[len(args)-len(last):], last, "the program's arguments are left alone")
		_, err = h.Settle(m)
		require.False(t, err != nil && strings.Contains(err.Error(), "\n"))
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
		m := machinetest.New(nil)
		words := append(slices.Clone(with), "-n", "1", "--"+flag, value)
		if flag == "profile-what" {
			words = append(words, "--profile", "file")
		}
		h, err := hold(m, append(words, "./app")...)
		if err != nil {
			return err
		}
		settled, err := h.SettleHosts(m)
		require.NoError(t, err)
		o := settled.Options(m)
		return o.Validate()
	}
	found := 0
	Flags().VisitAll(func(f *pflag.Flag) {
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

package dialects

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine/machinetest"
	"github.com/golaunch/golaunch/internal/job"
)

// manuals has the tool of each list of flags in testdata/manuals. A list has the names
// that the manual of a version describes.
var manuals = map[string]*Tool{
	"srun-22.05":         &Srun,
	"srun-24.11":         &Srun,
	"mpiexec-mpich-4.0":  &Hydra,
	"mpiexec-mpich-4":    &Hydra,
	"mpiexec-intel-2021": &Intel,
	"mpirun-openmpi-4.1": &OpenMPI,
	"mpirun-openmpi-5.0": &OpenMPI,
	"mpirun_rsh-2.3":     &MPIRunRSH,
	"torchrun-2":         &Torchrun,
}

// Own are golaunch's own flags, of a package that is above this one.
var Own func() *pflag.FlagSet

// paste is a line that is about to be read, with an environment.
func paste(environ ...string) *pasted {
	return &pasted{Machine: machinetest.New(nil, environ...), Flags: Own()}
}

// Each flag of each manual has a row.
func TestTablesAreComplete(t *testing.T) {
	files, err := filepath.Glob("testdata/manuals/*.txt")
	require.NoError(t, err)
	require.Len(t, files, len(manuals))
	for _, file := range files {
		in := manuals[strings.TrimSuffix(filepath.Base(file), ".txt")]
		require.NotNil(t, in, file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		flags := strings.Fields(string(text))
		require.NotEmpty(t, flags, file)
		for _, flag := range flags {
			assert.NotNil(t, in.row(strings.TrimLeft(flag, "-")), "%s: no row for %s", file, flag)
		}
	}
}

// A tool has a name in one row; what it turns into are flags that exist, and every
// answer is one line.
func TestRows(t *testing.T) {
	for _, of := range tools {
		seen := map[string]bool{}
		for _, r := range of.rows {
			for name := range strings.FieldsSeq(r.names) {
				assert.False(t, seen[name], "%s: %s twice", of.name, name)
				assert.False(t, strings.HasPrefix(name, "-"), name)
				seen[name] = true
			}
			assert.Contains(t, []string{becomes, answers, passes}, r.verb, r.names)
			assert.NotEmpty(t, r.text, r.names)
			assert.NotContains(t, r.text, "\n", r.names)
			assert.LessOrEqual(t, r.values, 4, r.names)
			for _, v := range []string{"1", "0", "a", "slot", "none"} {
				p := paste("SLURM_JOB_ID=1")
				var values []string
				for range max(r.values, -r.values) {
					values = append(values, v)
				}
				flags, answer := r.to(p, values)
				assert.False(t, len(flags) > 0 && answer != "", r.names)
				assert.NotContains(t, answer, "\n", r.names)
				assert.NotContains(t, strings.Join(p.Notes, ""), "\n", r.names)
				if len(flags) > 0 {
					assert.Equal(t, becomes, r.verb, r.names)
				}
				for _, flag := range flags {
					if name, ok := strings.CutPrefix(flag, "--"); ok {
						name, _, _ = strings.Cut(name, "=")
						assert.NotNil(t, p.Flags.Lookup(name), "%s: %s means %s", of.name, r.names, flag)
					}
				}
			}
		}
	}
}

// What flags of golaunch's the tables also have with two dashes: the tool's meaning
// holds only in its own lines, or for values that golaunch does not have.
func TestHiddenFlags(t *testing.T) {
	f := Own()
	var over, also, differ []string
	for _, of := range tools {
		for _, r := range of.rows {
			for name := range strings.FieldsSeq(r.names) {
				own := f.Lookup(name)
				if own == nil && (len(name) > 1 || f.ShorthandLookup(name) == nil) {
					continue
				}
				if own != nil && (own.NoOptDefVal == "") != (r.values == 1) && !r.over && !r.also {
					differ = append(differ, of.name+" "+name)
				}
				if r.over {
					over = append(over, of.name+" "+name)
				}
				if r.also {
					also = append(also, of.family+" "+name)
				}
			}
		}
	}
	assert.Equal(t, []string{"mpirun of Open MPI x", "srun N", "srun nodes", "srun x", "srun pty", "srun wait", "srun profile", "srun q", "torchrun tee"}, over)
	assert.Equal(t, []string{
		"openmpi map-by", "openmpi rank-by", "hydra map-by", "srun mpi", "srun o", "srun e", "srun i",
	}, also)
	// With another number of values than golaunch's, written with one dash in manuals.
	assert.Equal(t, []string{
		"mpiexec of MPICH genv", "mpiexec of MPICH env", "mpiexec of MPICH profile", "mpiexec of Intel MPI trace", "mpirun_rsh show",
	}, differ)
}

// The page of the tables is what they say.
func TestPageOfTables(t *testing.T) {
	const page = "../../../../docs/from-other-launchers.md"
	const begin, end = "<!-- tables -->\n", "<!-- end of tables -->\n"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := head + begin + tablesText() + end + tail
	if os.Getenv("UPDATE_PAGES") != "" {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
		return
	}
	for i, line := range strings.Split(want, "\n") {
		have := strings.Split(string(text), "\n")
		require.Greater(t, len(have), i)
		require.Equal(t, line, have[i], "line %d: UPDATE_PAGES=1 go test -run TestPageOfTables ./cmd/golaunch/internal/dialects writes it", i+1)
	}
}

// tablesText is the tables as Markdown: a row for all flags of which the same becomes,
// and one for those that are passed over, of which 'golaunch help FLAG' says why.
func tablesText() string {
	var b strings.Builder
	for _, of := range tools {
		var texts []string
		flags := map[string][]string{}
		for i := range of.rows {
			r := &of.rows[i]
			names := of.spelled(r)
			text := strings.ReplaceAll(r.text, "|", `\|`)
			switch {
			case len(names) == 1 && r.text == "`"+names[0]+"`":
				text = "the same"
			case r.verb == passes && !strings.Contains(r.text, "answered"):
				text = passes
			case r.verb != becomes:
				text = r.verb + ": " + text
			}
			if flags[text] == nil {
				texts = append(texts, text)
			}
			flags[text] = append(flags[text], names...)
		}
		fmt.Fprintf(&b, "\n### %s\n\nBy the manual of %s.\n\n| flag | golaunch |\n|---|---|\n", of.name, of.manual)
		for _, text := range texts {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(flags[text], "`, `"), text)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

func TestSlurmTime(t *testing.T) {
	for text, want := range map[string]string{
		"10": "600", "1:30": "90", "1:00:00": "3600", "2-0": "172800", "1-2:30": "95400", "1-0:0:5": "86405", "0": "0", "UNLIMITED": "0",
	} {
		flags, answer := slurmTime([]string{text})
		assert.Empty(t, answer, text)
		assert.Equal(t, []string{"--timeout", want}, flags, text)
	}
	for _, text := range []string{"", "a", "1:2:3:4", "-5", "1-", "10m", "1:-2", "99999999-0"} {
		_, answer := slurmTime([]string{text})
		assert.Contains(t, answer, "is not a time", text)
	}
}

func TestRankMap(t *testing.T) {
	for text, want := range map[string][]int{
		"0,1,1,0":              {0, 1, 1, 0},
		"(1,2,2)":              {1, 1, 2, 2},
		"(0,1,2),3":            {0, 0, 3},
		"(vector,(0,2,1),1,1)": {0, 1, 1, 1},
	} {
		p := paste()
		flags, answer := rankMap(p, []string{text})
		require.Empty(t, answer, text)
		assert.Equal(t, []string{"--map-by", "file:-rankmap"}, flags)
		var lines strings.Builder
		for rank, host := range want {
			fmt.Fprintf(&lines, "rank %d=+n%d\n", rank, host)
		}
		assert.Equal(t, lines.String(), p.RankMap, text)
	}
	for _, text := range []string{"", "a", "1,a", "(1,2", "(1,2)", "(1,2,3)4", "-1", "(0,1,0)", "(0,1048577,1)", "(0,1048576,1048576)"} {
		_, answer := rankMap(paste(), []string{text})
		assert.Contains(t, answer, "it is a list as", text)
	}
}

func TestPrograms(t *testing.T) {
	const file = "# head and workers\n0 ./head 'a b' \\\n  c\n\n1-2,5 ./work %t:%o\n* ./rest\n"
	list, err := readPrograms(strings.NewReader(file), "f")
	require.NoError(t, err)
	apps, err := programApps(job.App{N: 8, Dir: "/d"}, list)
	require.NoError(t, err)
	var got []string
	for _, a := range apps {
		assert.Equal(t, "/d", a.Dir)
		got = append(got, fmt.Sprintf("%d %q", a.N, a.Argv))
	}
	assert.Equal(t, []string{
		`1 ["./head" "a b" "c"]`, `1 ["./work" "1:0"]`, `1 ["./work" "2:1"]`, `2 ["./rest"]`, `1 ["./work" "5:2"]`, `2 ["./rest"]`,
	}, got)

	for file, want := range map[string]string{
		"":                 "f: it has no programs",
		"0\n":              `f:1: "0": it has no program after the ranks`,
		"0-x ./a\n":        `f:1: "0-x" is not a list of ranks such as 0-3,8, or *`,
		"0 './a\n":         "f:1: the quote ' is not closed",
		"* ./a\n* ./b\n":   "f:2: a second line for all other ranks",
		"0 ./a\n0-1 ./b\n": "line 2 has rank 0, which another line has, too",
		"0 ./a\n2-3 ./b\n": "no line has rank 1",
		"0 a\\\n" + strings.Repeat("b\\\n", 1<<19): "f:1: line of more than 1048576 bytes",
		"0-9 ./a\n":        "line 1 has rank 9, and there are 4",
		"0-16777216 ./a\n": `f:1: "0-16777216" is not a list of ranks such as 0-3,8, or *`,
	} {
		list, err := readPrograms(strings.NewReader(file), "f")
		if err == nil {
			_, err = programApps(job.App{N: 4}, list)
		}
		assert.EqualError(t, err, want, file)
	}
}

// Whatever is in a file of programs, each rank of the job has one program of it.
func FuzzPrograms(f *testing.F) {
	f.Add("0 ./a\n1-3 ./b %t\n", 4)
	f.Add("* ./a %o\n", 9)
	f.Add("3,1 ./a\\\n x\n* 'b c'\n", 0)
	f.Fuzz(func(t *testing.T, text string, n int) {
		list, err := readPrograms(strings.NewReader(text), "f")
		if err != nil || n < 0 || n > 1000 {
			return
		}
		apps, err := programApps(job.App{N: n}, list)
		if err != nil {
			return
		}
		ranks := 0
		for _, a := range apps {
			require.Positive(t, a.N)
			require.NotEmpty(t, a.Argv)
			ranks += a.N
		}
		if n > 0 {
			require.Equal(t, n, ranks)
		}
	})
}

// Whatever is in a file of apps, it is read as words or refused.
func FuzzApps(f *testing.F) {
	f.Add("-n 2 : ./a 'b c'\n# no\n-n 1 ./d\n")
	f.Fuzz(func(t *testing.T, text string) {
		apps, err := readApps(strings.NewReader(text), "f")
		require.True(t, err != nil || len(apps) > 0)
	})
}

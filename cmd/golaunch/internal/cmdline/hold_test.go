package cmdline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine/machinetest"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher"
)

// statements parses texts such as "line np=3", "file:2 np=4" and "variable np=5".
func statements(t require.TestingT, texts ...string) []statement {
	var all []statement
	for _, text := range texts {
		position, said, ok := strings.Cut(text, " ")
		require.True(t, ok, text)
		flag, value, _ := strings.Cut(said, "=")
		from := map[string]source{"line": onLine, "file": inFile, "variable": inVariable}
		position, line, _ := strings.Cut(position, ":")
		s := statement{flag: flag, value: value, from: from[position], name: "--" + flag}
		if s.from == inFile {
			s.pos = "conf:" + line + ": "
		}
		all = append(all, s)
	}
	return all
}

func texts(all []statement) []string {
	var list []string
	for _, s := range all {
		list = append(list, fmt.Sprint([]string{"line", "file", "variable"}[s.from], " ", s.flag, "=", s.value))
	}
	slices.Sort(list)
	return list
}

// Statements that hold, by source: the line before the file before variables, each of
// which also sets aside the flags that its own exclude.
var holdings = []struct{ said, holds []string }{
	{[]string{"variable np=5", "file:1 np=4", "line np=3"}, []string{"line np=3"}},
	{[]string{"variable np=5", "file:1 np=4"}, []string{"file np=4"}},
	{[]string{"line hosts=a", "line hosts=b", "file:1 hosts=c"}, []string{"line hosts=a", "line hosts=b"}},
	{[]string{"file:1 hosts=a", "file:2 hosts=b", "variable hosts=c"}, []string{"file hosts=a", "file hosts=b"}},
	{[]string{"line hosts=a", "file:1 hostfile=f"}, []string{"line hosts=a"}},
	{[]string{"file:1 quiet=true", "variable verbose=1"}, []string{"file quiet=true"}},
	{[]string{"file:1 quiet=true", "file:2 verbose=1"}, []string{"file quiet=true", "file verbose=1"}}, // refused later
	{[]string{"line degree=2", "variable degree-rule=scela"}, []string{"line degree=2"}},
	{[]string{"line mpi=auto", "file:1 pmix=true", "variable mpich-fix=true"}, []string{"line mpi=auto"}},
	// Statements set aside set nothing aside.
	{[]string{"line open-mpi=true", "file:1 mpi=auto", "variable no-mpich-fix=true"}, []string{"line open-mpi=true", "variable no-mpich-fix=true"}},
	// --nodes takes of the hosts that later sources name, and not of those of earlier ones.
	{[]string{"line nodes=2", "variable hosts=a,b"}, []string{"line nodes=2", "variable hosts=a,b"}},
	{[]string{"line hosts=a,b", "variable nodes=2"}, []string{"line hosts=a,b"}},
	{[]string{"line hosts=a,b", "file:1 nodes=2"}, []string{"line hosts=a,b"}},
	{[]string{"file:2 hosts=a,b", "file:1 nodes=2"}, []string{"file hosts=a,b", "file nodes=2"}},
	// This machine's bootstrap needs no hosts that stand for every job.
	{[]string{"line bootstrap=fork", "variable hosts=a", "file:1 hostfile=f"}, []string{"line bootstrap=fork"}},
	{[]string{"file:1 bootstrap=fork", "variable hosts=a"}, []string{"file bootstrap=fork", "variable hosts=a"}},
	// A bootstrap's own flags count once it is chosen, by any source.
	{[]string{"variable exec-command=x", "line bootstrap=ssh"}, []string{"line bootstrap=ssh"}},
	{[]string{"file:1 exec-command=x", "file:2 bootstrap=exec"}, []string{"file bootstrap=exec", "file exec-command=x"}},
	{[]string{"file:1 exec-command=x"}, nil},
	{[]string{"line exec-command=x"}, []string{"line exec-command=x"}},
}

func TestHolding(t *testing.T) {
	for _, c := range holdings {
		assert.Equal(t, c.holds, texts(holding(statements(t, c.said...), nil)), c.said)
	}
}

// The statements that hold do not depend on their order.
func TestHoldingInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(holdings).Draw(t, "said")
		require.Equal(t, c.holds, texts(holding(statements(t, rapid.Permutation(c.said).Draw(t, "order")...), nil)))
	})
}

// Flags of one source that exclude each other are refused; those of a file with its line.
func TestConflict(t *testing.T) {
	for _, c := range []struct {
		said []string
		want string
	}{
		{[]string{"line quiet=true", "line verbose=+1"}, "--quiet and --verbose exclude each other"},
		{[]string{"line verbose=+1", "line quiet=true"}, "--quiet and --verbose exclude each other"},
		{[]string{"line verbose=+1", "line quiet=false"}, ""},
		{[]string{"file:1 quiet=true", "file:3 verbose=+1"}, "conf:3: --quiet and --verbose exclude each other"},
		{[]string{"file:1 verbose=+1", "file:3 quiet=true"}, "conf:3: --quiet and --verbose exclude each other"},
		{[]string{"file:1 hosts=f", "file:2 hostfile=0"}, "conf:2: --hosts and --hostfile exclude each other; name all hosts in one"},
		{[]string{"file:1 env-from=node", "file:2 env-none=true"}, "conf:2: --env-none and --env-from exclude each other"},
		{[]string{"file:1 mpi=pmix", "file:2 open-mpi=true"}, "conf:2: --mpi and --open-mpi exclude each other"},
		{[]string{"file:1 mpich-fix=true", "file:2 no-mpich-fix=true"}, "conf:2: --mpich-fix and --no-mpich-fix exclude each other"},
		{[]string{"file:1 degree=2", "file:2 degree-rule=scela"}, ""},
		{[]string{"file:1 map-by=topo", "file:2 metis-file=f"}, ""},
		{[]string{"file:1 nodes=2", "file:2 hosts=a,b"}, ""},
		{[]string{"variable quiet=true", "variable verbose=1"}, ""},
		{[]string{"line quiet=true", "variable hosts=a", "file:1 hostfile=f"}, ""},
	} {
		err := conflict(statements(t, c.said...))
		if c.want == "" {
			assert.NoError(t, err, c.said)
			continue
		}
		assert.EqualError(t, err, c.want, c.said)
	}
}

// Errors of statements that hold name their place.
func TestHoldNamesThePlace(t *testing.T) {
	files := fstest.MapFS{
		"conf": {Data: []byte("# of the lab\nppn many\n")},
		"good": {Data: []byte("ppn 2\n")},
	}
	for _, c := range []struct{ variables, line, want string }{
		{"", "--ppn many ./app", `-N/--ppn: "many" is not a number from 1 to 16777216`},
		{"", "--config conf ./app", `conf:2: -N/--ppn: "many" is not a number from 1 to 16777216`},
		{"GOLAUNCH_CONFIG=conf", "./app", `conf:2: -N/--ppn: "many" is not a number from 1 to 16777216`},
		{"GOLAUNCH_PPN=many", "./app", `GOLAUNCH_PPN: "many" is not a number from 1 to 16777216`},
		{"GOLAUNCH_PPN=many", "--config good ./app", ""},
		{"MPIEXEC_TIMEOUT=soon", "./app", `MPIEXEC_TIMEOUT: "soon" is not a time; write 10, 10s, 500ms or 2m`},
		{"MPIEXEC_TIMEOUT=soon GOLAUNCH_TIMEOUT=3", "./app", ""},
		{"", "./app : -n x ./b", `app 1: -n/--np: "x" is not a number from 1 to 16777216`},
		{"", "./app : -x NOPE ./b", `app 1: -x/--env: NOPE is not set here; write NOPE=VALUE`},
		{"", "--genv PMI_RANK=1 ./app", `--genv: PMI_RANK is golaunch's to set`},
		{"", "--config - ./app", `--config: standard input is for other files and the program; give a file`},
		{"", "--config none ./app", `none: file does not exist`},
	} {
		_, err := hold(machinetest.New(files, strings.Fields(c.variables)...), strings.Fields(c.line)...)
		if c.want == "" {
			assert.NoError(t, err, c)
			continue
		}
		assert.EqualError(t, err, c.want, c)
	}
}

// A page is asked for by a flag, wherever it is said; on the line nothing else counts then.
func TestPage(t *testing.T) {
	for _, c := range []struct {
		variable, line string
		want           Page
	}{
		{"", "./app", ""},
		{"", "--help --ppn 3", PageHelp},
		{"", "-h", PageUsage},
		{"", "--version ./app : --bad", PageVersion},
		{"", "--mpi=list", PageMPI},
		{"GOLAUNCH_MPI=list", "./app", PageMPI},
		{"GOLAUNCH_HELP=1", "./app", ""},
	} {
		h, err := hold(machinetest.New(nil, c.variable), strings.Fields(c.line)...)
		require.NoError(t, err, c)
		assert.Equal(t, c.want, h.Page(), c)
	}
}

// Launchers' defaults give way to every flag and variable.
func TestHabits(t *testing.T) {
	type habit struct {
		names             any
		stdin             launcher.StdinTarget
		label, out, err   string
		unbuffered        bool
		restarts, genvLen int
	}
	for _, c := range []struct {
		variable, line string
		want           habit
	}{
		{"", "-n 2 -l ./a", habit{label: "rank"}},
		{"", "-N2 -l --mpi=pmi2 ./a", habit{label: "rank"}}, // srun's, and does not begin with its name
		{"", "srun -n 2 ./a", habit{names: overlay.SlurmNames, stdin: launcher.StdinAll}},
		{"", "srun -n 2 --pty ./a", habit{names: overlay.SlurmNames}},
		{"", "srun -n 2 -i 1 -l ./a", habit{names: overlay.SlurmNames, stdin: 1, label: "%r: "}},
		{"GOLAUNCH_STDIN=none", "srun ./a", habit{names: overlay.SlurmNames, stdin: launcher.StdinNone}},
		{"", "srun -o o.%t ./a", habit{names: overlay.SlurmNames, stdin: launcher.StdinAll, out: "o.%r", err: "o.%r"}},
		{"", "srun -o o -e e ./a", habit{names: overlay.SlurmNames, stdin: launcher.StdinAll, out: "o", err: "e"}},
		{"", "srun -o o -e all ./a", habit{names: overlay.SlurmNames, stdin: launcher.StdinAll, out: "o"}},
		{"", "mpirun -np 2 ./a", habit{unbuffered: true}}, // no flag tells its launcher
		{"GOLAUNCH_UNBUFFERED=0", "mpirun -np 2 ./a", habit{}},
		{"", "mpirun --mca a b --tag-output ./a", habit{names: overlay.OpenMPINames, unbuffered: true, label: "rank"}},
		{"", "mpirun --timestamp-output ./a", habit{names: overlay.OpenMPINames, unbuffered: true, label: "%t "}},
		{"", "mpirun --timestamp-output --tag-output ./a", habit{names: overlay.OpenMPINames, unbuffered: true, label: "%t [%r] "}},
		{"", "mpirun_rsh -np 1 -ssh ./a", habit{names: overlay.MVAPICHNames}},
		{"", "torchrun --no-python ./a", habit{genvLen: 3}},
		{"", "torchrun --no-python --max-restarts 2 --role x ./a", habit{restarts: 2, genvLen: 2}},
	} {
		h, err := hold(machinetest.New(nil, c.variable), strings.Fields(c.line)...)
		require.NoError(t, err, c.line)
		if c.want.names == nil {
			c.want.names = launcher.DefaultOptions().Launch.Names
		}
		got := habit{h.Launch.Names, h.Input.Stdin, h.Output.Label, h.Output.OutPattern, h.Output.ErrPattern, h.Launch.Unbuffered, h.Ending.Restarts, len(h.genv)}
		assert.Equal(t, c.want, got, c.line)
	}
}

// Apps have what their own flags leave open of the file and of variables, and nothing of
// the first one's flags.
func TestApps(t *testing.T) {
	m := machinetest.New(fstest.MapFS{"conf": {Data: []byte("n 7\n")}}, "GOLAUNCH_WDIR=/w", "A=1")
	for line, want := range map[string]string{
		"-n 2 ./a : ./b":                  `2 /w ["./a"] [], 0 /w ["./b"] []`,
		"--config conf ./a : ./b -x":      `7 /w ["./a"] [], 7 /w ["./b" "-x"] []`,
		"--wdir /x -n 1 ./a : -n 3 ./b":   `1 /x ["./a"] [], 3  ["./b"] []`,
		"-x A -x A=2 -x B=3 ./a : ./b":    `0 /w ["./a"] [A=2 B=3], 0 /w ["./b"] []`,
		"--multi-prog srun -n 2 ./a : ./": "",
	} {
		h, err := hold(m, strings.Fields(line)...)
		if want == "" {
			assert.Error(t, err, line)
			continue
		}
		require.NoError(t, err, line)
		var got []string
		for _, a := range h.apps {
			got = append(got, fmt.Sprintf("%d %s %q %v", a.N, a.Dir, a.Argv, a.Env))
		}
		assert.Equal(t, want, strings.Join(got, ", "), line)
	}
}

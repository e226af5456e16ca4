package hostlist

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
)

func TestSlurm(t *testing.T) {
	for _, c := range []struct{ nodes, tasks, want string }{
		{"n[001-003],m5", "", "n001 n002 n003 m5"},
		{"n[001-003],m5", "4(x3),2", "n001:4 n002:4 n003:4 m5:2"},
		{"n1", "16", "n1:16"},
		{"n[1-4]", "2,1(x2),3", "n1:2 n2:1 n3:1 n4:3"},
	} {
		hosts, err := Slurm(c.nodes, c.tasks)
		require.NoError(t, err)
		assert.Equal(t, c.want, show(hosts))
	}
	for _, c := range []struct{ nodes, tasks, want string }{
		{"n[1-", "1", `SLURM_JOB_NODELIST: "n[1-": [ without ]`},
		{"n[1-4]", "2(x3)", `SLURM_TASKS_PER_NODE: "2(x3)": counts 3 nodes, SLURM_JOB_NODELIST has 4`},
		{"n[1-4]", "2(x5)", `SLURM_TASKS_PER_NODE: "2(x5)": counts more nodes than the 4 of SLURM_JOB_NODELIST`},
		{"n1", "2(x1", `SLURM_TASKS_PER_NODE: "2(x1": not of the form 4 or 4(x3)`},
		{"n1", "2(x)", `SLURM_TASKS_PER_NODE: "2(x)": not of the form 4 or 4(x3)`},
		{"n1", "two", `SLURM_TASKS_PER_NODE: "two": "two" is not a number of slots`},
		{"n1", "1,", `SLURM_TASKS_PER_NODE: "": no number of slots after the colon`},
	} {
		_, err := Slurm(c.nodes, c.tasks)
		assert.EqualError(t, err, c.want)
	}
}

func TestNodeFiles(t *testing.T) {
	hosts, err := PBS(strings.NewReader("a\na\nb\n"), "nodes")
	require.NoError(t, err)
	assert.Equal(t, "a:2 b:1", show(hosts), "each line is a slot, also of a host named once")

	hosts, err = GridEngine(strings.NewReader("a 4 all.q@a <NULL>\nb 2 all.q@b UNDEFINED\n"), "pe")
	require.NoError(t, err)
	assert.Equal(t, "a:4 b:2", show(hosts))

	for text, want := range map[string]string{
		"":          `pe: names no host`,
		"a 4\nb\n":  `pe:2: "b": no number of slots after the host`,
		"a four q":  `pe:1: host "a": "four" is not a number of slots`,
		"a;b 4 q u": `pe:1: "a;b": character ';' in host name`,
	} {
		_, err := GridEngine(strings.NewReader(text), "pe")
		assert.EqualError(t, err, want)
	}
	_, err = PBS(strings.NewReader(""), "nodes")
	assert.EqualError(t, err, "nodes: names no host")
}

func TestLSF(t *testing.T) {
	hosts, err := LSF("a 4 b 2")
	require.NoError(t, err)
	assert.Equal(t, "a:4 b:2", show(hosts))
	hosts, err = LSFHosts("a a b a")
	require.NoError(t, err)
	assert.Equal(t, "a:3 b:1", show(hosts))

	_, err = LSF("a 4 b")
	assert.EqualError(t, err, `LSB_MCPU_HOSTS: "a 4 b": not pairs of host and slots`)
	_, err = LSF("a b")
	assert.EqualError(t, err, `LSB_MCPU_HOSTS: host "a": "b" is not a number of slots`)
	_, err = LSFHosts(" ")
	assert.EqualError(t, err, "LSB_HOSTS: names no host")
}

func FuzzResourceManagers(f *testing.F) {
	f.Add("n[001-003],m5", "4(x3),2")
	f.Add("a 4 b 2", "1(x")
	f.Fuzz(func(t *testing.T, a, b string) {
		check := func(hosts []job.Host, err error) {
			if err != nil {
				require.NotContains(t, err.Error(), "\n")
				return
			}
			require.NotEmpty(t, hosts)
		}
		check(Slurm("n[1-9]", b))
		check(LSF(a))
		check(LSFHosts(a))
		check(GridEngine(strings.NewReader(a), "pe"))
		check(PBS(strings.NewReader(a), "nodes"))
	})
}

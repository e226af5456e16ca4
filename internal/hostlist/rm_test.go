package hostlist

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

func TestNodeFiles(t *testing.T) {
	hosts, err := linePerSlot(strings.NewReader("a\na\nb\n"), "nodes")
	require.NoError(t, err)
	assert.Equal(t, "a:2 b:1", show(hosts), "each line is a slot, also of a host named once")

	hosts, err = gridEngine(strings.NewReader("a 4 all.q@a <NULL>\nb 2 all.q@b UNDEFINED\n"), "pe")
	require.NoError(t, err)
	assert.Equal(t, "a:4 b:2", show(hosts))

	for text, want := range map[string]string{
		"":          `pe: names no host`,
		"a 4\nb\n":  `pe:2: "b": no number of slots after the host`,
		"a four q":  `pe:1: host "a": "four" is not a number of slots`,
		"a;b 4 q u": `pe:1: "a;b": character ';' in host name`,
	} {
		_, err := gridEngine(strings.NewReader(text), "pe")
		assert.EqualError(t, err, want)
	}
	_, err = linePerSlot(strings.NewReader(""), "nodes")
	assert.EqualError(t, err, "nodes: names no host")
}

func TestLSF(t *testing.T) {
	hosts, err := countsAfter("LSB_MCPU_HOSTS", "a 4 b 2")
	require.NoError(t, err)
	assert.Equal(t, "a:4 b:2", show(hosts))
	hosts, err = namePerSlot("LSB_HOSTS", "a a b a")
	require.NoError(t, err)
	assert.Equal(t, "a:3 b:1", show(hosts))

	_, err = countsAfter("LSB_MCPU_HOSTS", "a 4 b")
	assert.EqualError(t, err, `LSB_MCPU_HOSTS: "a 4 b": not pairs of host and slots`)
	_, err = countsAfter("LSB_MCPU_HOSTS", "a b")
	assert.EqualError(t, err, `LSB_MCPU_HOSTS: host "a": "b" is not a number of slots`)
	_, err = namePerSlot("LSB_HOSTS", " ")
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
		check(slurmHosts(named{"nodes", "n[1-9]"}, named{"counts", b}))
		check(countsAfter("counts", a))
		check(namePerSlot("names", a))
		check(gridEngine(strings.NewReader(a), "pe"))
		check(linePerSlot(strings.NewReader(a), "nodes"))
	})
}

package cname

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/topology"
)

const hosts = `   NID    (HEX)    NODENAME     TYPE    STATUS        MODE
     12      0xc  c0-0c0s3n0  compute        up       batch
nid00013 c0-0c0s3n1
nid00500: c1-0c2s0a0n0 # of the same group
nid01000 c4-0c0s3n0
`

func TestGraph(t *testing.T) {
	list, err := ParseHosts(strings.NewReader(hosts), "f")
	require.NoError(t, err)
	require.Len(t, list, 4)
	assert.Equal(t, Host{"nid00012", Coordinate{Slot: 3}}, list[0])
	assert.Equal(t, "c1-0c2s0n0", list[2].At.String())
	g, err := Graph(list, 1)
	require.NoError(t, err)
	assert.Equal(t, []int{4, 2 * 96}, []int{g.Hosts(), g.Switches()})
	assert.Equal(t, "nid00013", g.Name(1))
	assert.Equal(t, g.Leaf(0), g.Leaf(1), "one blade")
	f := g.Family().(*topology.Dragonfly)
	assert.Equal(t, []int{0, 3}, []int{f.Group(g.Leaf(0)), f.Router(g.Leaf(0))})
	assert.Equal(t, []int{0, 5 * 16}, []int{f.Group(g.Leaf(2)), f.Router(g.Leaf(2))})
	assert.Equal(t, []int{1, 3}, []int{f.Group(g.Leaf(3)), f.Router(g.Leaf(3))}, "cabinets 4 and 5 are the next group with hosts")
}

func TestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "f: no host: expected lines such as nid00012 c0-0c0s3n0",
		"nid00012":                         `f:1: "nid00012": expected a host and its place, such as nid00012 c0-0c0s3n0`,
		"c0-0c0s3n0":                       `f:1: "c0-0c0s3n0": expected a host and its place`,
		"\nn1 c0-0c3s3n0":                  `f:2: "c0-0c3s3n0": c3: expected at most 2`,
		"n1 c0-0c0s16n0":                   `f:1: "c0-0c0s16n0": s16: expected at most 15`,
		"n1 c0-0c0s1n0x":                   `f:1: "c0-0c0s1n0x": expected nothing behind the node`,
		"n1 c0-0c0s1":                      `f:1: "c0-0c0s1": expected a Cray node's name, such as c3-0c2s15n1`,
		"n1 c0-0c0s1n0\nn1 c0-0c0s1n1":     `f:2: host "n1" is in line 1 already`,
		"n1 c0-0c0s1n0\nn2 c0-0c0s1n0":     `f:2: c0-0c0s1n0 has another host in line 1`,
		": c0-0c0s1n0":                     `f:1: ":": expected a host's name`,
		"n1 c99999999999999999999-0c0s1n0": `c99999: expected at most 1023`,
	} {
		_, err := ParseHosts(strings.NewReader(text), "f")
		assert.ErrorContains(t, err, want, text)
	}
}

func FuzzParseHosts(f *testing.F) {
	f.Add(hosts)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseHosts(strings.NewReader(text), "f")
		if err != nil {
			require.Contains(t, err.Error(), "f:")
			return
		}
		for _, h := range list {
			again, err := Parse(h.At.String())
			require.NoError(t, err)
			require.Equal(t, h.At, again)
		}
	})
}

package slurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/topology"
)

const tree = `# two leaves below one spine
SwitchName=s0 Nodes=tux[0-3],gpu1 LinkSpeed=100
switchname=s1 nodes=tux[4-7]  # words in any case
SwitchName=s2 \
  Switches=s[0-1]
`

const block = `BlockName=block1 Nodes=node[01-04]
BlockName=block2 Nodes=node[05-08]
BlockSizes=4,8
`

func TestParse(t *testing.T) {
	g, err := Parse(strings.NewReader(tree), "topology.conf")
	require.NoError(t, err)
	assert.Equal(t, []int{9, 3, 11}, []int{g.Hosts(), g.Switches(), g.Cables()})
	assert.Equal(t, []string{"tux0", "gpu1", "s2", "s0"}, []string{g.Name(0), g.Name(4), g.Name(g.Switch(2)), g.Name(g.Leaf(4))})
	f, err := topology.Recognize(g)
	require.NoError(t, err)
	assert.Equal(t, "fattree:5,2/1,1/1,1", f.String())

	g, err = Parse(strings.NewReader(block), "topology.conf")
	require.NoError(t, err)
	assert.Equal(t, []int{8, 3, 10}, []int{g.Hosts(), g.Switches(), g.Cables()})
	assert.Equal(t, "block2", g.Name(g.Leaf(7)))
	assert.Equal(t, "blocks", g.Name(g.Switch(2)))
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "f: no switch: expected lines such as SwitchName=leaf1 Nodes=n[001-018]",
		"SwitchName=s0":                        `f:1: switch "s0": expected Nodes= or Switches=`,
		"SwitchName=s0 Nodes=":                 `f:1: "Nodes=": expected key=value, such as SwitchName=leaf1 Nodes=n[001-018]`,
		"\nNodes=a":                            `f:2: "Nodes=a": expected SwitchName= or BlockName=`,
		"SwitchName=s0 Nodes=a[1-":             `f:1: names: "a[1-": [ without ]`,
		"SwitchName=s0 Nodes=a Nodes=b":        "f:1: nodes= is given twice",
		"SwitchName=s0 Nodes=a Speed=7":        `f:1: "Speed=7": expected one of SwitchName=, Nodes=`,
		"SwitchName=s0 Nodes=a LinkSpeed=fast": `f:1: "LinkSpeed=fast": expected LinkSpeed=number`,
		"SwitchName=s0 Nodes=a\nSwitchName=s0 Nodes=b":     `f:2: switch "s0" is in line 1 already`,
		"SwitchName=s0 Switches=s1":                        `f:1: switch "s1" is in no line of its own`,
		"SwitchName=s0 Switches=s0":                        `f:1: switch "s0" is below itself`,
		"SwitchName=a Switches=b\nSwitchName=b Switches=a": `f:2: switch "a" is below itself, over "b"`,
		"BlockName=b Nodes=n1\nSwitchName=s Nodes=n2":      "f:2: both SwitchName= and BlockName=: expected the one or the other in a file",
		"BlockName=b Switches=s1":                          `f:1: block "b" has Switches=: expected Nodes=`,
		"BlockName=b Nodes=n1\nBlockSizes=4,x":             `f:2: "x": expected a size of blocks, from 1`,
		"BlockName=blocks Nodes=n1":                        `f:1: a block is named "blocks": expected another name`,
		"SwitchName=s0 Nodes=a[1-2000000]":                 "f:1: names:",
	} {
		_, err := Parse(strings.NewReader(text), "f")
		assert.ErrorContains(t, err, want, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(tree)
	f.Add(block)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "-") > 3 || len(text) > 1000 {
			return // large ranges take their time
		}
		g, err := Parse(strings.NewReader(text), "f")
		if err != nil {
			require.Contains(t, err.Error(), "f:")
			return
		}
		require.NotZero(t, g.Switches())
	})
}

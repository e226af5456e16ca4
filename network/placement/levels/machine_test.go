package levels

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

func TestEntitiesAreNested(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, 40)
		m := d.Machine
		for a := range int32(m.Cores()) {
			for b := range int32(m.Cores()) {
				level := m.Between(a, b)
				require.Equal(t, d.level(a, b), level)
				for l := range m.Levels() {
					require.Equal(t, l < level, m.Entity(l, a) == m.Entity(l, b))
					require.Less(t, int(m.Entity(l, a)), m.Entities(l))
				}
			}
		}
	})
}

// Cores of a sparse allocation, far and near.
func TestOnCray(t *testing.T) {
	g := cray(t, 2)
	m, err := OnCray(g, []topology.Node{0, 3, 5, 64, 384})
	require.NoError(t, err)
	require.Equal(t, 5*24, m.Cores())
	for core, want := range map[int32]int{11: 5, 12: 4, 24: 3, 48: 2, 72: 1, 96: 0} {
		assert.Equal(t, want, m.Between(0, core), "core %d", core)
	}
	assert.Equal(t, []int{2, 3, 4, 5, 10}, []int{m.Entities(0), m.Entities(1), m.Entities(2), m.Entities(3), m.Entities(4)})
	assert.Equal(t, "blade", m.Name(2))
}

func TestMachinesRefused(t *testing.T) {
	_, err := New(nil, [][]int32{{}})
	assert.EqualError(t, err, "a machine without levels")
	_, err = New([]string{"node"}, nil)
	assert.EqualError(t, err, "0 cores: a machine has 1 to 4194304")
	_, err = New([]string{"node"}, [][]int32{{0}, {0, 1}})
	assert.EqualError(t, err, "core 1 has 2 coordinates: expected 1, one for each level")
	fly, err := spec.Parse("dragonfly:p=2,a=4,h=1,g=2")
	require.NoError(t, err)
	_, err = OnCray(fly, []topology.Node{0})
	assert.EqualError(t, err, "the network is no Cray whose sockets and cores are known: describe it as in cray:6,16,4,2,12")
	for _, hosts := range [][]topology.Node{{-1}, {384}, {1, 1}} {
		_, err = OnCray(cray(t, 1), hosts)
		assert.ErrorContains(t, err, "expected hosts with a cable, each once")
	}
	_, err = OnCray(cray(t, 1), nil)
	assert.EqualError(t, err, "0 cores: a machine has 1 to 4194304")
}

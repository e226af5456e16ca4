package topology

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSparse(t *testing.T) {
	g, err := NewPGFT(XGFT([]int{20, 36, 4}, []int{1, 16, 4}), 0)
	require.NoError(t, err)
	leaves := func(hosts []Node) int {
		seen := map[Node]bool{}
		for _, n := range hosts {
			seen[g.Leaf(n)] = true
		}
		return len(seen)
	}
	for _, processes := range []int{16, 256, 600, 1024, 4096} {
		hosts, racks := RangerJob(processes)
		for seed := range uint64(3) {
			list, err := Sparse(g, hosts, racks, false, seed)
			require.NoError(t, err)
			again, _ := Sparse(g, hosts, racks, false, seed)
			assert.Equal(t, list, again)
			assert.True(t, slices.IsSorted(list))
			assert.Len(t, slices.Compact(list), hosts)
			assert.Equal(t, racks, leaves(list))
			if processes > 256 {
				assert.Greater(t, Balance(g, list), 1.5)
			}
			even, err := Sparse(g, hosts/racks*racks, racks, true, seed)
			require.NoError(t, err)
			assert.Equal(t, 1.0, Balance(g, even))
		}
	}
	list, err := Sparse(g, 224, 74, false, 1)
	require.NoError(t, err)
	other, err := Sparse(g, 224, 74, false, 2)
	require.NoError(t, err)
	assert.NotEqual(t, list, other)
	for want, n := range map[string][2]int{
		"0 leaf switches: expected 1..144":                                  {1, 0},
		"145 leaf switches: expected 1..144":                                {200, 145},
		"3 hosts: expected 4..80 below the 4 leaf switches that are drawn":  {3, 4},
		"81 hosts: expected 4..80 below the 4 leaf switches that are drawn": {81, 4},
	} {
		_, err := Sparse(g, n[0], n[1], false, 1)
		assert.EqualError(t, err, want)
	}
	assert.Zero(t, Balance(g, nil))
	assert.Equal(t, 4.0/2.5, Balance(g, []Node{0, 1, 2, 3, 20}), "4 and 1 are as far from 2.5: the greater tells more")
}

func TestSelect(t *testing.T) {
	tree, err := NewPGFT(Tuple{[]int{4, 4}, []int{1, 2}, []int{1, 2}}, 0)
	require.NoError(t, err)
	torus, err := NewTorusGraph(Shape{Dims: []int{4, 4}, Wrap: []bool{true, true}, Hosts: 1}, 0)
	require.NoError(t, err)
	fly, err := NewDragonflyGraph(Layout{P: 2, A: 4, H: 2, G: 5, Chassis: 1}, Rates{})
	require.NoError(t, err)
	for _, g := range []*Graph{tree, torus, fly} {
		hosts := []Node{7, 3, 12}
		less, err := g.Select(hosts)
		require.NoError(t, err)
		assert.Equal(t, []int{3, g.Switches(), g.Cables() - g.Hosts() + 3}, []int{less.Hosts(), less.Switches(), less.Cables()})
		assert.Equal(t, g.Family().String(), less.Family().String())
		for i, n := range hosts {
			assert.Equal(t, g.Name(n), less.Name(Node(i)))
			assert.Equal(t, g.Name(g.Leaf(n)), less.Name(less.Leaf(Node(i))))
		}
		_, err = g.Select([]Node{1, 1})
		assert.EqualError(t, err, "host h1 is given twice")
		_, err = g.Select([]Node{g.Switch(0)})
		assert.ErrorContains(t, err, "expected a host, 0..")
	}
	less, err := tree.Select([]Node{7, 3})
	require.NoError(t, err)
	assert.Equal(t, 7, less.Family().(*FatTree).Index(0))
}

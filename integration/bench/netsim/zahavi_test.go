package netsim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Table 3: tree order has degree 1 in every stage, random orders have the printed one.
func TestTable3(t *testing.T) {
	for _, row := range table3 {
		t.Run(fmt.Sprintf("%d %t", row.job, row.doubling), func(t *testing.T) {
			m, err := row.measure()
			require.NoError(t, err)
			assert.Equal(t, 1.0, m.ordered.Mean())
			assert.Equal(t, 1, m.ordered.Max())
			if row.within > 0 {
				assert.InEpsilon(t, row.printed, m.random.of, row.within)
			} else {
				assert.Greater(t, m.random.of, 5.0)
			}
			if row.doubling {
				assert.Equal(t, 2, m.plain.Max(), "recursive doubling that does not follow the tree")
				assert.InDelta(t, 1.45, m.plain.Mean(), 0.15)
			}
		})
	}
}

// The figure of 1584 ranks that is printed is that of tree order with holes.
func TestHolesAreNotFree(t *testing.T) {
	r, err := tree(tree1728)
	require.NoError(t, err)
	m, err := holed(r, routing.Shift(1584))
	require.NoError(t, err)
	assert.InEpsilon(t, 1.98, m.of, 0.01)
}

// Figure 3: sequences in which all send get worse with the size, trees stay below 2.
func TestFigure3(t *testing.T) {
	var last []float64
	for _, word := range []string{tree128, tree324, tree1728} {
		r, err := tree(word)
		require.NoError(t, err)
		var means []float64
		for i, sequence := range figure3Sequences {
			q := sequence(r.Graph().Hosts())
			if q.Name == "shift" {
				continue // table 3
			}
			m, err := random(r, q)
			require.NoError(t, err)
			means = append(means, m.of)
			if i < 2 {
				assert.Less(t, m.of, 2.0, q.Name)
				assert.Greater(t, m.of, 1.4, q.Name)
			} else if last != nil && q.Name != "folded recursive doubling" { // 128 is a power of two
				assert.Greater(t, m.of, last[i], "%s on %s", q.Name, word)
			}
		}
		last = means
	}
}

// All hosts of each leaf switch send by one of its ports: a rank gets an 18th.
func TestAdversarialRing(t *testing.T) {
	r, err := tree(tree1944)
	require.NoError(t, err)
	order := adversarial(18, 6)
	seen := map[topology.Node]bool{}
	for _, h := range order {
		seen[h] = true
	}
	require.Len(t, seen, 1944, "each host once")
	c, err := routing.HotSpots(r, order, routing.Ring(1944), topology.Serial)
	require.NoError(t, err)
	assert.Equal(t, 18, c.Max())
	costs := netsim.Costs{Rate: linkRate, Inject: hostRate}
	part, err := share(r, order, routing.Ring(1944), costs, false)
	require.NoError(t, err)
	assert.InEpsilon(t, 1/18.0, part, 1e-6)
	part, err = share(r, hosts(r, 1944), routing.Ring(1944), costs, false)
	require.NoError(t, err)
	assert.InEpsilon(t, float64(hostRate)/linkRate, part, 1e-6)
}

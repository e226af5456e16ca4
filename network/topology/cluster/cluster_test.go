package cluster

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
)

// parallel is a Loop that has everything done at once.
func parallel(n int, do func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

// tree clusters hosts of which the distances are in rows.
func tree(t testing.TB, rows [][]uint8) *Tree {
	d, err := Measure(len(rows), func(i int, hops []uint8) { copy(hops, rows[i]) }, topology.Serial)
	require.NoError(t, err)
	return Join(d)
}

// fatTree returns the distances of a full tree with so many children at each level,
// from the bottom.
func fatTree(arity ...int) [][]uint8 {
	hosts := 1
	for _, a := range arity {
		hosts *= a
	}
	rows := make([][]uint8, hosts)
	for i := range rows {
		rows[i] = make([]uint8, hosts)
		for j := range rows[i] {
			if i == j {
				continue
			}
			x, y, level := i, j, 0
			for x != y {
				x, y, level = x/arity[level], y/arity[level], level+1
			}
			rows[i][j] = uint8(2*level - 1)
		}
	}
	return rows
}

func TestFatTree(t *testing.T) {
	tr := tree(t, fatTree(3, 2, 2))
	assert.Equal(t, 3, tr.Depth())
	assert.Equal(t, 4+2+1, tr.Clusters())
	assert.Equal(t, [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}, tr.Groups(1))
	assert.Equal(t, [][]int{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}, tr.Groups(2))
	assert.Equal(t, [][]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}}, tr.Groups(3))
	assert.Equal(t, tr.Groups(3), tr.Groups(4), "no deeper than leaf switches")
	hosts, clusters := tr.inside(6)
	assert.Empty(t, hosts)
	assert.Equal(t, []int{4, 5}, clusters)
	assert.Equal(t, 5, int(tr.hops[6]))
	assert.Equal(t, []int32{6, 6, -1}, tr.parent[tr.hosts+4:])
}

func TestUneven(t *testing.T) {
	const far = Unreachable
	for _, test := range []struct {
		name   string
		rows   [][]uint8
		depth  int
		groups [][][]int // at depths 1, 2, ...
	}{
		{name: "no host"},
		{name: "one host", rows: [][]uint8{{0}}, groups: [][][]int{{{0}}}},
		{name: "in pieces", rows: [][]uint8{{0, 1, far, far}, {1, 0, far, far}, {far, far, 0, far}, {far, far, far, 0}}, depth: 1,
			groups: [][][]int{{{0, 1}, {2}, {3}}}},
		{name: "hosts alone on their leaf switches", rows: [][]uint8{{0, 3, 3}, {3, 0, 3}, {3, 3, 0}}, depth: 1,
			groups: [][][]int{{{0, 1, 2}}, {{0}, {1}, {2}}}},
		{name: "a leaf switch next to the top", rows: [][]uint8{
			{0, 1, 5, 5, 5}, {1, 0, 5, 5, 5}, {5, 5, 0, 1, 3}, {5, 5, 1, 0, 3}, {5, 5, 3, 3, 0},
		}, depth: 3, groups: [][][]int{{{0, 1, 2, 3, 4}}, {{0, 1}, {2, 3, 4}}, {{0, 1}, {2, 3}, {4}}}},
		{name: "a row: ties by the lowest host", rows: [][]uint8{{0, 2, 3, 4}, {2, 0, 2, 3}, {3, 2, 0, 2}, {4, 3, 2, 0}}, depth: 2,
			groups: [][][]int{{{0, 1, 2, 3}}, {{0, 1}, {2, 3}}, {{0}, {1}, {2}, {3}}}},
		{name: "two ways of unequal length", rows: [][]uint8{{0, 1, 1}, {1, 0, 3}, {1, 1, 0}}, depth: 2,
			groups: [][][]int{{{0, 1, 2}}, {{0, 1}, {2}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := tree(t, test.rows)
			assert.Equal(t, test.depth, tr.Depth())
			for i, want := range test.groups {
				assert.Equal(t, want, tr.Groups(i+1), "depth %d", i+1)
			}
		})
	}
}

// Hosts of which each is the only one of its leaf switch have the level of leaf
// switches, and those of a leaf switch next to the top have the level above it.
func TestLevels(t *testing.T) {
	for _, test := range []struct {
		rows   [][]uint8
		levels []uint8
		within [][]int // of each host, at each level
	}{
		{[][]uint8{{0}}, []uint8{1}, [][]int{{0}}},
		{fatTree(2, 1, 2), []uint8{5, 1}, [][]int{{2, 0}, {2, 0}, {2, 1}, {2, 1}}},
		{[][]uint8{{0, 0}, {0, 0}}, []uint8{1}, [][]int{{0}, {0}}},
		{[][]uint8{{0, 1, 5, 5}, {1, 0, 5, 5}, {5, 5, 0, 3}, {5, 5, 3, 0}}, []uint8{5, 3, 1},
			[][]int{{2, 0, 0}, {2, 0, 0}, {2, 1, 3 + 2}, {2, 1, 3 + 3}}},
	} {
		tr := tree(t, test.rows)
		require.Equal(t, test.levels, tr.Levels())
		for host, want := range test.within {
			for i, hops := range test.levels {
				require.Equal(t, want[i], tr.Within(host, hops), "host %d of %v within %d hops", host, test.rows, hops)
			}
		}
	}
}

func TestTooManyHosts(t *testing.T) {
	_, err := Measure(MaxHosts+1, nil, topology.Serial)
	assert.EqualError(t, err, "32769 hosts: the distances of at most 32768 are supported")
}

// printed returns the algorithm as it is printed [Subramoni, algorithm 1], with complete
// linkage, on sets of hosts. It returns the clusters in the order of joining, each
// as its hosts.
func printed(rows [][]uint8) (clusters [][]int) {
	var active [][]int
	for i := range rows {
		active = append(active, []int{i})
	}
	distance := func(a, b []int) (most uint8) {
		for _, x := range a {
			for _, y := range b {
				most = max(most, rows[x][y], rows[y][x])
			}
		}
		return most
	}
	for {
		least, first, second := Unreachable, 0, 0
		for a := range active {
			for b := a + 1; b < len(active); b++ {
				if d := distance(active[a], active[b]); d < least {
					least, first, second = d, a, b
				}
			}
		}
		if least == Unreachable {
			return clusters
		}
		list := []int{first}
		for k := range active {
			if k != first && distance(active[first], active[k]) == least {
				list = append(list, k)
			}
		}
		if !slices.Contains(list, second) {
			panic("the pair itself is missing")
		}
		for i := 0; i < len(list); i++ {
			list = slices.DeleteFunc(list, func(k int) bool { return k != list[i] && distance(active[list[i]], active[k]) != least })
		}
		var joined []int
		for _, k := range list {
			joined = append(joined, active[k]...)
		}
		slices.Sort(joined)
		clusters = append(clusters, joined)
		var next [][]int
		for k, c := range active {
			if !slices.Contains(list, k) {
				next = append(next, c)
			}
		}
		active = append(next, joined)
		slices.SortFunc(active, func(a, b []int) int { return a[0] - b[0] })
	}
}

func TestJoinIsTheAlgorithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 14).Draw(t, "hosts")
		rows := make([][]uint8, n)
		for i := range rows {
			rows[i] = make([]uint8, n)
			for j := range i {
				hops := rapid.SampledFrom([]uint8{1, 1, 2, 3, 3, 4, Unreachable}).Draw(t, "hops")
				rows[i][j], rows[j][i] = hops, hops
			}
		}
		d, err := Measure(n, func(i int, hops []uint8) { copy(hops, rows[i]) }, parallel)
		if err != nil {
			t.Fatal(err)
		}
		tr := Join(d)
		members := make([][]int, tr.Clusters())
		for c := range members {
			hosts, clusters := tr.inside(c)
			members[c] = hosts
			for _, inner := range clusters {
				members[c] = append(members[c], members[inner]...)
			}
			slices.Sort(members[c])
		}
		if want := printed(rows); !slices.EqualFunc(want, members, slices.Equal) {
			t.Fatalf("%v:\n got %v\nwant %v", rows, members, want)
		}
	})
}

// inside has what was joined to a cluster, by lowest host: hosts, and other
// clusters.
func (t *Tree) inside(c int) (hosts, clusters []int) {
	for _, child := range t.children[c] {
		if int(child) < t.hosts {
			hosts = append(hosts, int(child))
		} else {
			clusters = append(clusters, int(child)-t.hosts)
		}
	}
	return hosts, clusters
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// With every rule, all that tells of a rank's node agrees with the map: its
// environment, its number on the node, PMI's process mapping; with two apps, too.
func TestMapByAgrees(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	dir := t.TempDir()
	ranks := filepath.Join(dir, "ranks")
	require.NoError(t, os.WriteFile(ranks, fmt.Appendf(nil, "rank 0=%[1]s.3\n1,7 %[1]s.0\n2-5 %[1]s.2\n6 +n0\n", host), 0o600))
	names := filepath.Join(dir, "names")
	var text strings.Builder
	for i := range 4 {
		fmt.Fprintf(&text, "%s.%d h%d\n", host, i, []int{0, 2, 1, 3}[i])
	}
	require.NoError(t, os.WriteFile(names, []byte(text.String()), 0o600))
	network := []string{"--topology", "fattree:2,2/1,1/1,1", "--map", names}
	for _, c := range []struct {
		name    string
		flags   []string
		nodes   []int // of the ranks
		mapping string
	}{
		{"slot", []string{"--map-by", "slot"}, []int{0, 0, 1, 1, 2, 2, 3, 3}, "(vector,(0,4,2))"},
		{"node", []string{"--map-by", "node"}, []int{0, 1, 2, 3, 0, 1, 2, 3}, "(vector,(0,4,1),(0,4,1))"},
		{"node, in blocks", []string{"--map-by", "node", "--rank-by", "slot"}, []int{0, 0, 1, 1, 2, 2, 3, 3}, "(vector,(0,4,2))"},
		{"switch", append(slices.Clone(network), "--map-by", "switch"), []int{0, 2, 0, 2, 1, 3, 1, 3}, ""},
		{"comm", append(slices.Clone(network), "--map-by", "comm:cart:4x2:open"), nil, ""},
		{"file", []string{"--map-by", "file:" + ranks}, []int{2, 0, 1, 1, 1, 1, 0, 0}, "(vector,(2,1,1),(0,1,1),(1,1,4),(0,1,2))"},
		{"seq", []string{"--map-by", "seq", "--oversubscribe"}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			argv := append([]string{"--nodes", "4", "-l"}, c.flags...)
			program := func(words ...string) []string {
				n := []string{"-n", "5"}
				if c.name == "seq" {
					n = []string{"-n", "1"} // four entries
				}
				return slices.Concat(argv, n, words, []string{":", "-n", "3"}, words)
			}
			r := local(t, "", program("sh", "-c", "echo $GOLAUNCH_NODEID $LOCAL_RANK $MPI_LOCALRANKID $MPI_LOCALNRANKS")...)
			require.Zero(t, r.code, r.stderr)
			size := 8
			if c.name == "seq" {
				size = 4
			}
			var nodes []int
			held := map[int]int{}
			for rank := range size {
				var node, at, same, all int
				_, err := fmt.Sscan(strings.Join(r.labeled(fmt.Sprint(rank)), " "), &node, &at, &same, &all)
				require.NoError(t, err, r.stdout)
				require.Equal(t, []int{held[node], held[node]}, []int{at, same}, "rank %d", rank)
				held[node]++
				nodes = append(nodes, node)
			}
			if c.nodes != nil {
				require.Equal(t, c.nodes, nodes)
			}
			r = local(t, "", program(bin("pmiclient"), "-i")...)
			require.Zero(t, r.code, r.stderr)
			for rank := range size {
				line := r.labeled(fmt.Sprint(rank))[0]
				_, mapping, ok := strings.Cut(line, "mapping ")
				require.True(t, ok, line)
				require.Equal(t, nodes, unfold(t, mapping))
				if c.mapping != "" {
					require.Equal(t, c.mapping, mapping)
				}
			}
		})
	}
}

// unfold is the node of each rank that a process mapping says.
func unfold(t *testing.T, mapping string) (nodes []int) {
	for tuple := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(mapping, "(vector,("), "))"), "),(") {
		var first, count, ranks int
		_, err := fmt.Sscanf(tuple, "%d,%d,%d", &first, &count, &ranks)
		require.NoError(t, err, mapping)
		for i := range count {
			nodes = append(nodes, slices.Repeat([]int{first + i}, ranks)...)
		}
	}
	return nodes
}

package overlay

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/tree"
)

// The protocol's page has the table of kinds, all of it and nothing else.
func TestProtocolPageHasTheTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/protocol-tree.md")
	require.NoError(t, err)
	streams := map[link.Stream]string{link.Control: "control", link.KVS: "kvs", link.Data: "data", link.Stdio: "stdio", link.Service: "service"}
	var want, got []string
	for number, k := range kinds {
		if k.name != "" {
			want = append(want, fmt.Sprintf("| %d | %s | %s | %s | %s | %s |", number, k.name, streams[k.stream], k.direction, k.sender, k.scope))
		}
	}
	var own []string
	for _, k := range kinds {
		if k.of == ofTree {
			own = append(own, k.name)
		}
	}
	require.Contains(t, strings.ReplaceAll(string(page), "\n", " "), "where the message is about the tree: "+strings.Join(own, ", ")+", and a note where no job has it")
	row := regexp.MustCompile(`^\| \d+ (\|[^|]+){5}\|`)
	for line := range strings.Lines(string(page)) {
		if found := row.FindString(line); found != "" {
			got = append(got, found)
		}
	}
	require.Equal(t, want, got)
}

// Messages between servers of a world name it, whichever of its nodes they come from; ranks
// of any world ask what others of any have put.
func TestMessagesBetweenServers(t *testing.T) {
	var found []tree.Kind
	for number, k := range kinds {
		kind := tree.Kind(number)
		require.False(t, FromAnyNode(kind) && !BetweenServers(kind), k.name)
		if BetweenServers(kind) {
			found = append(found, kind)
			require.Equal(t, kind != KindPMIxModex, k.world, k.name)
			require.Equal(t, k.world, k.scope == ofWorld, k.name)
		}
	}
	require.Equal(t, []tree.Kind{KindBoard, KindHome, KindGroup, KindRecords, KindPMIxFence, KindPMIxModex, KindMaster}, found)
	require.True(t, FromAnyNode(KindHome) && FromAnyNode(KindGroup) && FromAnyNode(KindPMIxModex))
	require.False(t, FromAnyNode(KindBoard) || FromAnyNode(KindRecords))
	require.False(t, BetweenServers(math.MaxUint8) || FromAnyNode(math.MaxUint8))
}

// The table fits the rest of the code: raw messages have no values, those of children
// are judged, and control messages are small.
func TestTableOfKinds(t *testing.T) {
	names := map[string]bool{}
	for number, k := range kinds {
		if k.name == "" {
			require.Nil(t, k.body)
			_, err := middleChild(false).admit(link.Control, tree.Header{Kind: tree.Kind(number)})
			require.ErrorContains(t, err, fmt.Sprintf("unexpected message of kind %d", number))
			continue
		}
		require.False(t, names[k.name], "%q is there twice", k.name)
		names[k.name] = true
		require.NotNil(t, k.body, k.name)
		require.NotEmpty(t, k.direction, k.name)
		require.Equal(t, k.sender == byBelow, ForLauncher(tree.Kind(number)), k.name)
		require.Contains(t, map[direction][]sender{
			up: {byChild, byBelow, byRoot, byNewcomer}, down: {byParent, byLauncher}, both: {byNeighbor, byNode},
		}[k.direction], k.sender, k.name)
		if k.stream == link.Control && k.bytes.rank == 0 {
			require.LessOrEqual(t, k.bytes.base, 1<<20, "%s: control is always read", k.name)
		}
	}
}

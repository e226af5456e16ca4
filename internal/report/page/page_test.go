package page_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/report/page"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Eight ranks on four hosts of two leaf switches: every number of the page can be counted by hand.
func TestLevels(t *testing.T) {
	r := newRecorded(8, 2)
	r.Worlds[0].Sent = [][]int64{{0, 0, 1, 8}, {0, 1, 2, 1000}, {0, 2, 3, 2000}, {1, 7, 4, 4000}, {7, 1, 5, 992}}
	p := made(t, read(t, "a.profile", text(t, r)), network(t, "fattree:2,2/1,1/1,1"))
	require.Equal(t, "a.profile: 8 ranks on 4 nodes sent 8 kB in 15 messages: 12.6 % within a node, 25.0 % 1 hop and 62.4 % 3 hops.", p.Levels.Summary)
	require.Equal(t, [][]string{
		{"within a node", "2", "1.01 kB", "12.6 %", "3", "20.0 %"},
		{"1 hop", "1", "2 kB", "25.0 %", "3", "20.0 %"},
		{"3 hops", "2", "4.99 kB", "62.4 %", "9", "60.0 %"},
		{"all", "5", "8 kB", "100.0 %", "15", "100.0 %"},
	}, p.Levels.Tables[0].Rows)
	require.Equal(t, []string{"node", "h1", "h3"}, []string{p.Classes[0].Key, p.Classes[1].Key, p.Classes[2].Key})
	require.Equal(t, []string{"s0", "s1"}, p.Runs[0].Switches)
	require.Equal(t, []int32{0, 0, 1, 1}, p.Runs[0].SwitchOf)
	require.Equal(t, []page.Cell{{Messages: 3, Bytes: 1008}, {To: 1, Class: 1, Messages: 3, Bytes: 2000}, {To: 3, Class: 2, Messages: 4, Bytes: 4000}, {From: 3, Class: 2, Messages: 5, Bytes: 992}}, p.Decoded(p.Runs[0].Grains[1]))
	require.Equal(t, []page.Cell{{Messages: 3, Bytes: 1008}, {Class: 1, Messages: 3, Bytes: 2000}, {To: 1, Class: 2, Messages: 4, Bytes: 4000}, {From: 1, Class: 2, Messages: 5, Bytes: 992}}, p.Decoded(p.Runs[0].Grains[2]))

	require.Equal(t, "a.profile: 6.99 kB went over 9 links of fattree:2,2/1,1/1,1, by routes of d-mod-k. Most, 6 kB (85.8 %), went over the link from host h0 to switch s0.", p.Links[0].Summary)
	require.Equal(t, []string{"2", "switch s1", "host h3", "4 kB", "57.2 %", "rate unknown"}, p.Links[0].Table.Rows[1])
}

// A pair that sends by itself and in a collective operation is one pair.
func TestPairsAreCountedOnce(t *testing.T) {
	r := newRecorded(2, 1)
	r.Worlds[0].Sent = [][]int64{{0, 1, 1, 10}, {1, 0, 1, 10}}
	file := strings.Replace(text(t, r), `"communicators":[]`, `"communicators":[{"size":2,"ranks":[[0,2,1]]}]`, 1)
	file = strings.Replace(file, `"collectives":[]`, `"collectives":[{"call":"MPI_Alltoall","communicator":0,"root":-1,"calls":1,"bytes":40}]`, 1)
	require.Contains(t, file, "MPI_Alltoall")
	p := made(t, read(t, "a", file), nil)
	require.Equal(t, []string{"all", "2", "40 B", "100.0 %", "4", "100.0 %"}, p.Levels.Tables[0].Rows[1])
}

// Without a network what leaves a node is all that is known of it.
func TestLevelsWithoutNetwork(t *testing.T) {
	r := newRecorded(4, 2)
	r.Worlds[0].Sent = [][]int64{{0, 1, 1, 10}, {0, 2, 1, 30}}
	p := made(t, read(t, "a", text(t, r)), nil)
	require.Equal(t, "a: 4 ranks on 2 nodes sent 40 B in 2 messages: 25.0 % within a node and 75.0 % between nodes, hops unknown.", p.Levels.Summary)
	require.Len(t, p.Runs[0].Grains, 2)
	require.Empty(t, p.Links)

	p = made(t, read(t, "a", text(t, r)), network(t, "torus:4,hosts=1"))
	require.Empty(t, p.Runs[0].Notes)
	r.Worlds[0].Nodes[1] = "far"
	p = made(t, read(t, "a", text(t, r)), network(t, "torus:4,hosts=1"))
	require.Equal(t, []string{"not in the network torus:4,hosts=1: far; --map says which of its hosts they are"}, p.Runs[0].Notes)
	require.Equal(t, []string{"s0", "no known switch"}, p.Runs[0].Switches)
	require.Contains(t, p.Levels.Summary, "75.0 % between nodes, hops unknown")
}

// Two runs of one program: the page tells the messages that moved from far to near.
func TestTwoRuns(t *testing.T) {
	net := network(t, "fattree:4,4,4/1,2,2/1,2,2")
	in := read(t, "random.profile", text(t, stencil(t, "cart:8x8x4:periodic:26:64/8/1", 4, shuffled(256))), "mapped.profile", text(t, stencil(t, "cart:8x8x4:periodic:26:64/8/1", 4, nil)))
	p := made(t, in, net)
	require.Len(t, p.Runs, 2)
	table := p.Levels.Tables[2]
	require.Equal(t, "Change from random.profile (A) to mapped.profile (B)", table.Caption)
	require.Equal(t, []string{"distance", "volume, A", "volume, B", "change", "messages, A", "messages, B", "change"}, names(table))
	require.Equal(t, "× 22.6", table.Rows[0][3], "within nodes: %v", table.Rows)
	require.Equal(t, "0.0 %", table.Rows[len(table.Rows)-1][3], "the same in all")
	require.Len(t, p.Links, 2)
	require.Contains(t, p.Levels.Summary, "Between nodes: ")
}

func names(t page.Table) (list []string) {
	for _, c := range t.Columns {
		list = append(list, c.Name)
	}
	return list
}

// Cells, levels and links equal plain sums over all pairs, on any network.
func TestSums(t *testing.T) {
	words := []string{"fattree:3,4/1,2/1,1", "torus:3x4", "dragonfly:p=1,a=4,h=1,g=3", "mesh:2x3x2"}
	rapid.Check(t, func(t *rapid.T) {
		net := network(t, rapid.SampledFrom(words).Draw(t, "network"))
		ranks, per := rapid.IntRange(1, 24).Draw(t, "ranks"), rapid.IntRange(2, 4).Draw(t, "per node")
		r := newRecorded(ranks, per)
		r.Quantity = "time"
		sums := map[[2]int][4]int64{} // by nodes
		on := map[topology.Link]int64{}
		for i := range rapid.IntRange(0, 60).Draw(t, "pairs") {
			row := []int64{int64(i % ranks), rapid.Int64Range(0, int64(ranks)-1).Draw(t, "to"), rapid.Int64Range(1, 9).Draw(t, "messages"), rapid.Int64Range(0, 1<<40).Draw(t, "bytes"), 7}
			r.Worlds[0].Sent = append(r.Worlds[0].Sent, row)
			a, b := int(row[0])/per, int(row[1])/per
			steps, err := net.Router.Append(nil, topology.Node(a), topology.Node(b))
			require.NoError(t, err)
			s := sums[[2]int{a, b}]
			sums[[2]int{a, b}] = [4]int64{int64(routing.Hops(steps)), s[1] + row[2], s[2] + row[3], s[3] + row[4]}
			for _, step := range steps {
				on[step.Link] += row[3]
			}
		}
		p := made(t, read(t, "a", text(t, r)), net)
		cells := p.Decoded(p.Runs[0].Grains[1])
		require.Len(t, cells, len(sums))
		for _, c := range cells {
			s := sums[[2]int{c.From, c.To}]
			class := 0
			if c.From != c.To {
				class = int(min((s[0]+2)/2, 5))
			}
			require.Equal(t, []int64{int64(class), s[1], s[2], s[3]}, []int64{int64(c.Class), c.Messages, c.Bytes, c.Nanosec}, "%v hops %d", c, s[0])
		}
		most := int64(0)
		for _, n := range on {
			most = max(most, n)
		}
		require.Equal(t, most > 0, len(p.Links) > 0)
		if most == 0 {
			return
		}
		drawn := int64(0)
		for _, e := range p.Links[0].Drawing.Edges {
			drawn = max(drawn, e.There, e.Back)
		}
		require.Equal(t, most, drawn)
		for _, n := range p.Links[0].Drawing.Nodes {
			require.True(t, n.X >= 0 && n.X <= 1 && n.Y >= 0 && n.Y <= 1, "%+v", n)
		}
	})
}

// A page is small whatever the ranks of 512 send, and complete in itself.
func TestSizeOfPages(t *testing.T) {
	trace, rep := traced(t, 32, 16)
	net := network(t, "fattree:8,4/1,4/1,1")
	for name, profiles := range map[string][]string{
		"stencil":      {"a", text(t, stencil(t, "cart:8x8x8:periodic:26:64/8/1", 16, nil))},
		"all with all": {"a", text(t, random(512, 16)), "b", text(t, stencil(t, "cart:8x8x8:periodic:26:64/8/1", 16, shuffled(512)))},
	} {
		size := len(html(t, made(t, read(t, append(profiles, "job.trace", trace, "job.report", rep, "sweep.json", swept)...), net)))
		t.Logf("%s: %d bytes", name, size)
		require.Less(t, size, 2_000_000, name)
	}
}

// Cells of a page that is too large become coarser, and nothing is lost.
func TestCoarserCells(t *testing.T) {
	r := random(300, 16)
	p := made(t, read(t, "a", text(t, r)), nil)
	g := p.Runs[0].Grains[0]
	require.Greater(t, g.Per, 1)
	var bytes, want int64
	for _, c := range p.Decoded(g) {
		bytes += c.Bytes
	}
	for _, row := range r.Worlds[0].Sent {
		want += row[3]
	}
	require.Equal(t, want, bytes)
}

// Text of the files is data: none of it is HTML, and the page fetches nothing.
func TestTextOfFilesIsNoHTML(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=http://example.org/x onerror=alert(2)>`
	r := newRecorded(2, 1)
	r.Command, r.Worlds[0].Nodes[1] = []string{evil}, evil
	r.Worlds[0].Sent = [][]int64{{0, 1, 1, 1}}
	text := string(html(t, made(t, read(t, evil, text(t, r)), nil)))
	require.NotContains(t, text, "alert(")
	require.NotContains(t, text, "example.org")
	require.Equal(t, 2, strings.Count(text, "<script"))
	require.Contains(t, text, "default-src 'none'")
	require.True(t, page.Is([]byte(text)[:512]))
	require.False(t, page.Is([]byte("<!DOCTYPE html>\n<html>")))

	_, data, _ := strings.Cut(text, `id="data">`)
	data, _, _ = strings.Cut(data, "<")
	packed, err := base64.StdEncoding.DecodeString(data)
	require.NoError(t, err)
	model, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	require.NoError(t, err)
	require.Contains(t, string(model), `alert(1)`, "but the script has it")
}

// The same files make the same page.
func TestPagesAreTheSame(t *testing.T) {
	one := func() string {
		trace, rep := traced(t, 4, 2)
		return string(html(t, made(t, read(t, "a", text(t, stencil(t, "cart:2x2x2", 2, nil)), "t", trace, "r", rep, "n", stages, "x", connected), network(t, "fattree:2,2/1,2/1,1"))))
	}
	require.Equal(t, one(), one())
}

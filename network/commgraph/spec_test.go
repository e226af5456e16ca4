package commgraph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, x := range []struct {
		text         string
		ranks, edges int
		total        int64
	}{
		{text: "cart:5", ranks: 5, edges: 4, total: 4},
		{text: "cart:5:periodic", ranks: 5, edges: 5, total: 5},
		{text: "cart:2:periodic", ranks: 2, edges: 1, total: 2}, // both ways around
		{text: "cart:1:periodic", ranks: 1},
		{text: "cart:8x8x8", ranks: 512, edges: 1344, total: 1344},
		{text: "cart:8x8x8:open:6", ranks: 512, edges: 1344, total: 1344},
		{text: "cart:8x8x8:periodic:7", ranks: 512, edges: 512 * 6 / 2, total: 512 * 6 / 2},
		{text: "cart:8x8x8:periodic:18", ranks: 512, edges: 512 * 18 / 2, total: 512 * 18 / 2},
		{text: "cart:8x8x8:periodic:19:4/1", ranks: 512, edges: 512 * 18 / 2, total: 512 * (6*4 + 12) / 2},
		{text: "cart:8x8x8:periodic:27:64/8/1", ranks: 512, edges: 6656, total: 124928},
		{text: "cart:5x5x5x5:periodic:8", ranks: 625, edges: 625 * 8 / 2, total: 625 * 8 / 2},
		{text: "cart:5x5x5x5:periodic:80", ranks: 625, edges: 625 * 80 / 2, total: 625 * 80 / 2},
		{text: "cart:16x8x8", ranks: 1024, edges: 2752, total: 2752},
		{text: "uniform:9", ranks: 9, edges: 36, total: 36},
		{text: "uniform:1", ranks: 1},
	} {
		require.True(t, Is(x.text))
		g, err := Parse(x.text)
		require.NoError(t, err)
		require.Equal(t, []int64{int64(x.ranks), int64(x.edges), x.total}, []int64{int64(g.Ranks()), int64(g.Edges()), g.Total()}, x.text)
	}
}

// The last dimension is fastest.
func TestCartOrder(t *testing.T) {
	g, err := Parse("cart:2x3x4")
	require.NoError(t, err)
	peers, _ := g.Peers(1*12 + 1*4 + 1)
	require.Equal(t, []int32{0*12 + 1*4 + 1, 1*12 + 0*4 + 1, 1*12 + 1*4 + 0, 1*12 + 1*4 + 2, 1*12 + 2*4 + 1}, peers)
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                       `communication graph "": expected one of cart:8x8x8:periodic:26, uniform:64`,
		"cart":                   `communication graph "cart": expected one of cart:8x8x8:periodic:26, uniform:64`,
		"cart:":                  `communication graph "cart:": "": expected up to 8 sizes, such as 8x8x8 (such as cart:8x8x8:periodic:26)`,
		"cart:0x3":               `communication graph "cart:0x3": "0x3": expected up to 8 sizes, such as 8x8x8 (such as cart:8x8x8:periodic:26)`,
		"cart:9999x9999":         `communication graph "cart:9999x9999": "9999x9999": more than 4194304 ranks (such as cart:8x8x8:periodic:26)`,
		"cart:2000x2000:80":      `communication graph "cart:2000x2000:80": "80": expected periodic, open or the number of neighbors: 4, 8 (such as cart:8x8x8:periodic:26)`,
		"cart:150x150x150:26":    `communication graph "cart:150x150x150:26": 3375000 ranks with 26 neighbors: more than 33554432 edges (such as cart:8x8x8:periodic:26)`,
		"cart:8x8:8:64":          `communication graph "cart:8x8:8:64": "64": expected 2 weights, such as 64/8/1, and no more (such as cart:8x8x8:periodic:26)`,
		"cart:8x8:8:64/8:x":      `communication graph "cart:8x8:8:64/8:x": "64/8:x": expected 2 weights, such as 64/8/1, and no more (such as cart:8x8x8:periodic:26)`,
		"cart:8x8:8:64/y":        `communication graph "cart:8x8:8:64/y": "y": expected a weight, 0 to 1073741824 (such as cart:8x8x8:periodic:26)`,
		"uniform:8193":           `communication graph "uniform:8193": "8193": expected the number of ranks, 1 to 8192 (such as uniform:64)`,
		"uniform:99999999999999": `communication graph "uniform:99999999999999": "99999999999999": expected the number of ranks, 1 to 8192 (such as uniform:64)`,
		"uniform:2:3":            `communication graph "uniform:2:3": "2:3": expected the number of ranks, 1 to 8192 (such as uniform:64)`,
	} {
		_, err := Parse(text)
		require.EqualError(t, err, want)
	}
	require.False(t, Is("cart"))
	require.False(t, Is("file.graph"))
}

func FuzzParse(f *testing.F) {
	f.Add("cart:8x8x8:periodic:26:64/8/1")
	f.Add("cart:2x1x3:open:7")
	f.Add("uniform:64")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 24 {
			return // small graphs are enough
		}
		if g, err := Parse(text); err == nil {
			require.Positive(t, g.Ranks())
		}
	})
}

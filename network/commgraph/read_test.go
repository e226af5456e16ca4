package commgraph

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/filestest"
)

// shared reads a graph that is not in the repository.
func shared(t testing.TB, name string) *File {
	t.Helper()
	f, err := Read(filestest.Shared(t, name), name)
	require.NoError(t, err)
	return f
}

func TestReadForms(t *testing.T) {
	square, err := New(4, []Edge{{0, 1, 5}, {1, 2, 6}, {2, 3, 7}, {3, 0, 8}})
	require.NoError(t, err)
	ones, err := New(3, []Edge{{0, 1, 1}, {1, 2, 1}})
	require.NoError(t, err)
	for name, x := range map[string]struct {
		text  string
		want  *Graph
		form  string
		notes []string
	}{
		"weights of edges": {text: "% a comment\n4 4 1\n2 5 4 8\n1 5 3 6\n% another\n2 6 4 7\n1 8 3 7\n", want: square, form: "METIS"},
		"weights of both":  {text: "4 4 011 2\n9 9 2 5 4 8\n9 9 1 5 3 6\n9 9 2 6 4 7\n9 9 1 8 3 7\n\n", want: square, form: "METIS", notes: []string{"the weights of vertices are left out: each rank takes one slot"}},
		"sizes as well":    {text: "4 4 111\n1 9 2 5 4 8\n1 9 1 5 3 6\n1 9 2 6 4 7\n1 9 1 8 3 7\n", want: square, form: "METIS", notes: []string{"the weights of vertices are left out: each rank takes one slot"}},
		"no weights":       {text: "3 2\n2\n1 3\n2\n", want: ones, form: "METIS"},
		"matrix":           {text: "0,2,0,8\n3,99,6,0\n0,0,0,7.0\n0,0,0,0\n", want: square, form: "matrix"},
		"trailing commas":  {text: "0, 5, 0, 8,\n0, 0, 6, 0,\n0, 0, 0, 7e0,\n0, 0, 0, 0,\n", want: square, form: "matrix"},
		"list":             {text: "---- Graph ----\n0 , 1 = 5.0\n2 , 1 = 6\n3,0=8\n2 , 3 = 3\n3 , 2 = 4\n---- end ----\nAverage Degree: 2.5\n", want: square, form: "list"},
	} {
		f, err := Read(strings.NewReader(x.text), "f")
		require.NoError(t, err, name)
		require.Equal(t, x.want, f.Graph, name)
		require.Equal(t, x.form, f.Form, name)
		require.Equal(t, x.notes, f.Notes, name)
	}
}

func TestReadSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "f: no known form of a communication graph: expected METIS' form (\"512 1344 1\" first), a matrix of comma-separated numbers, or lines such as \"0 , 27 = 4096\"",
		"hello\n":                       "f: no known form of a communication graph: expected METIS' form (\"512 1344 1\" first), a matrix of comma-separated numbers, or lines such as \"0 , 27 = 4096\"",
		"3 1\n2\n1\n":                   "f:3: the file ends after 2 vertices: the header says 3",
		"2 1\n2\n1\n1\n":                `f:4: "1": the header says 2 vertices: expected the end`,
		"2 1\n3\n1\n":                   `f:2: "3": expected a vertex, 0 to 2`,
		"2 1\n1\n1\n":                   "f:2: vertex 1 has an edge to 1: expected another of 1 to 2",
		"2 1 1\n2\n1 1\n":               "f:2: vertex 1: a weight is missing at the end",
		"2 1 1\n2 3\n1 4\n":             "f: edge between vertices 1 and 2: expected it in the lines of both, with one weight",
		"3 2\n2\n1\n\n":                 "f: 1 edges: the header says 2",
		"3 1\n2 2\n1\n\n":               "f:3: more than the 1 edges of the header",
		"3 2\n2 2\n1 1\n\n":             "f: edge between vertices 1 and 2 comes twice",
		"3 2\n2 3\n\n\n":                "f: edge between vertices 1 and 2: expected it in the lines of both, with one weight",
		"2 1 7\n":                       `f:1: "7": expected a format such as 1 or 011`,
		"2 1 1 3\n":                     `f:1: "3": the format is 001`,
		"99999999999 1\n":               `f:1: "99999999999": expected the number of vertices, 0 to 4194304`,
		"0 0\n":                         "f: 0 ranks: a graph has 1 to 4194304",
		"0,1\n":                         "f:1: the file ends after 1 rows: expected 2, as there are columns",
		"0,1\n1\n":                      "f:2: 1 numbers: expected 2, as in the first row",
		"0,1\n1,0\n0,0\n":               "f:3: row 3 of a matrix of 2 columns: expected as many rows, at most 4194304",
		"0,-1\n1,0\n":                   `f:1: "-1": expected a weight, a whole number from 0 on`,
		"0,1\n1,0.5\n":                  `f:2: "0.5": expected a weight, a whole number from 0 on`,
		"0 , 1 = 4\n0 , x = 4\n":        `f:2: "x": expected a rank, 0 to 4194303`,
		"0 , 1 = 4\n0 , 9999999 = 4\n":  `f:2: "9999999": expected a rank, 0 to 4194303`,
		"0 , 1 = 4\n\n1 , 2 = many\n":   `f:3: "many": expected a weight, a whole number from 0 on`,
		"0 , 1 = 4\nnothing\n":          `f:2: "nothing": expected a line such as "0 , 27 = 4096"`,
		"0 , 1 = 1e15\n1 , 0 = 1e300\n": `f:2: "1e300": expected a weight, a whole number from 0 on`,
	} {
		_, err := Read(strings.NewReader(text), "f")
		require.EqualError(t, err, want, text)
	}
}

func TestWriteMETIS(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "ranks")
		rank := rapid.Int32Range(0, int32(n-1))
		g, err := New(n, rapid.SliceOf(rapid.Custom(func(t *rapid.T) Edge {
			return Edge{rank.Draw(t, "a"), rank.Draw(t, "b"), rapid.Int64Range(0, 1<<50).Draw(t, "weight")}
		})).Draw(t, "edges"))
		require.NoError(t, err)
		var text bytes.Buffer
		require.NoError(t, g.WriteMETIS(&text))
		f, err := Read(&text, "f")
		require.NoError(t, err)
		require.Equal(t, g, f.Graph)
	})
}

// The files of the data folder are as their page describes them.
func TestReadShared(t *testing.T) {
	for name, spec := range map[string]string{
		"commgraph/st26_888p.graph": "cart:8x8x8:periodic:26:64/8/1",
		"commgraph/st6_888.graph":   "cart:8x8x8",
	} {
		want, err := Parse(spec)
		require.NoError(t, err)
		require.Equal(t, want, shared(t, name).Graph)
	}
	matrix := shared(t, "commmatrix/maplib/cg.64.size.csv")
	list := shared(t, "commmatrix/proxyapps/NPB-cg_results-64_ranks.txt")
	require.Equal(t, 64, matrix.Graph.Ranks())
	require.InEpsilon(t, float64(matrix.Graph.Total()), float64(list.Graph.Total()), 1e-6, "the same program, recorded twice")
}

func TestStar(t *testing.T) {
	require.Equal(t, []string{"the graph is nothing but a star from rank 0 to 63 ranks, as collective operations leave: it says nothing about neighbors"},
		shared(t, "commmatrix/proxyapps/CoMD-64_ranks.txt").Notes)
	require.Equal(t, []string{"rank 0 has edges to 1023 ranks, as collective operations leave: less than 0.1% of the weight"},
		shared(t, "commmatrix/proxyapps/NPB-cg_results-1024_ranks.txt").Notes)
	for _, spec := range []string{"uniform:64", "cart:8x8:periodic:8", "cart:3x3:8"} {
		g, err := Parse(spec)
		require.NoError(t, err)
		_, ok := g.Star()
		require.False(t, ok, spec)
	}
}

// Without its star a recorded graph has the messages of ranks to their neighbors; one
// that has none stays as it is.
func TestWithoutStar(t *testing.T) {
	edges := []Edge{{1, 2, 50}, {0, 3, 57}}
	for r := int32(1); r < 10; r++ {
		edges = append(edges, Edge{0, r, 7})
	}
	g, err := New(10, edges)
	require.NoError(t, err)
	want, err := New(10, []Edge{{1, 2, 50}, {0, 3, 57}})
	require.NoError(t, err)
	require.Equal(t, want, g.WithoutStar())
	require.Same(t, want, want.WithoutStar())
	cg := shared(t, "commmatrix/proxyapps/NPB-cg_results-64_ranks.txt").Graph
	require.Equal(t, cg.Edges()-60, cg.WithoutStar().Edges(), "rank 0 has three neighbors of its own")
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"4 4 1\n2 5 4 8\n1 5 3 6\n2 6 4 7\n1 8 3 7\n", "3 2\n2\n1 3\n2\n", "2 1 111 2\n1 9 9 2 5\n1 9 9 1 5\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(readsOrRefuses)
}

func FuzzReadMatrix(f *testing.F) {
	f.Add([]byte("0,2\n3,99\n"))
	f.Fuzz(readsOrRefuses)
}

func FuzzReadList(f *testing.F) {
	f.Add([]byte("---- Graph ----\n0 , 1 = 5.0\n2 , 1 = 6\nAverage Degree: 2.5\n"))
	f.Fuzz(readsOrRefuses)
}

// Graphs that Read takes can be written and read again.
func readsOrRefuses(t *testing.T, text []byte) {
	f, err := Read(bytes.NewReader(text), "f")
	if err != nil {
		require.Contains(t, err.Error(), "f")
		return
	}
	if f.Graph.Ranks() > 1<<16 {
		return // a line for each takes long
	}
	var out bytes.Buffer
	require.NoError(t, f.Graph.WriteMETIS(&out))
	again, err := Read(&out, "again")
	if f.Graph.total > 1<<53 {
		return // more than a weight may be in METIS' form
	}
	require.NoError(t, err)
	require.Equal(t, f.Graph, again.Graph)
}

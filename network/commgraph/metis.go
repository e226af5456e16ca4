package commgraph

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

// isMETIS knows the header: numbers of vertices and edges, maybe a format and the
// number of weights of a vertex.
func isMETIS(line string) bool {
	words := strings.Fields(line)
	for _, w := range words {
		if _, err := strconv.ParseUint(w, 10, 64); err != nil {
			return false
		}
	}
	return len(words) >= 2 && len(words) <= 4
}

// metis reads METIS' form: a header "vertices edges [format [weights]]", then a
// line for each vertex with its peers, from 1, each with the weight of the edge if
// the format ends in 1. Each edge is there from both its ends.
type metis struct {
	in           *lines.Reader
	ranks, edges int
	skip         int  // numbers before the peers: the vertex's size and weights
	weighted     bool // edges have weights
	up, down     []Edge
}

func readMETIS(in *lines.Reader) (*Graph, []string, error) {
	m := &metis{in: in}
	rank := int32(-1) // rank of the next line; -1 is the header
	for in.Next() {
		text := strings.TrimSpace(in.Text())
		switch {
		case strings.HasPrefix(text, "%") || rank < 0 && text == "":
			continue
		case rank < 0:
			if err := m.header(text); err != nil {
				return nil, nil, err
			}
		case int(rank) < m.ranks:
			if err := m.vertex(rank, text); err != nil {
				return nil, nil, err
			}
		case text != "":
			return nil, nil, in.Errorf("%s: the header says %d vertices: expected the end", lines.Show(text), m.ranks)
		default:
			continue
		}
		rank++
	}
	if err := in.Err(); err != nil {
		return nil, nil, err
	}
	if int(rank) < m.ranks {
		return nil, nil, in.Errorf("the file ends after %d vertices: the header says %d", rank, m.ranks)
	}
	if err := m.check(); err != nil {
		return nil, nil, in.At(0, "%w", err)
	}
	g, err := New(m.ranks, m.up)
	if err != nil {
		return nil, nil, in.At(0, "%w", err)
	}
	if m.skip > 0 {
		return g, []string{"the weights of vertices are left out: each rank takes one slot"}, nil
	}
	return g, nil, nil
}

func (m *metis) header(text string) error {
	words := strings.Fields(text)
	ranks, err := m.in.Number(words[0], "the number of vertices", MaxRanks)
	if err != nil {
		return err
	}
	edges, err := m.in.Number(words[1], "the number of edges", MaxEdges)
	if err != nil {
		return err
	}
	m.ranks, m.edges = int(ranks), int(edges)
	format, weights := "000", int64(0)
	if len(words) > 2 {
		format = fmt.Sprintf("%03s", words[2])
	}
	if len(format) != 3 || strings.Trim(format, "01") != "" {
		return m.in.Expected(words[2], "a format such as 1 or 011")
	}
	if format[1] == '1' {
		weights = 1
	}
	if len(words) > 3 {
		if weights, err = m.in.Number(words[3], "the number of weights of a vertex", 64); err != nil {
			return err
		}
		if (weights > 0) != (format[1] == '1') {
			return m.in.Errorf("%s: the format is %s", lines.Show(words[3]), format)
		}
	}
	m.skip, m.weighted = int(weights)+int(format[0]-'0'), format[2] == '1'
	return nil
}

func (m *metis) vertex(rank int32, text string) error {
	left := m.skip
	peer := int32(-1) // that waits for the weight of its edge
	for word := range strings.FieldsSeq(text) {
		switch {
		case left > 0:
			left--
			if _, err := m.in.Number(word, "a weight", 1<<53); err != nil {
				return err
			}
		case peer < 0:
			n, err := m.in.Number(word, "a vertex", int64(m.ranks))
			if err != nil {
				return err
			}
			if n == 0 || int32(n-1) == rank {
				return m.in.Errorf("vertex %d has an edge to %d: expected another of 1 to %d", rank+1, n, m.ranks)
			}
			peer = int32(n - 1)
			if !m.weighted {
				m.add(rank, peer, 1)
				peer = -1
			}
		default:
			w, err := m.in.Number(word, "the weight of an edge", 1<<53)
			if err != nil {
				return err
			}
			m.add(rank, peer, w)
			peer = -1
		}
		if len(m.up)+len(m.down) > 2*m.edges {
			return m.in.Errorf("more than the %d edges of the header", m.edges)
		}
	}
	if left > 0 || peer >= 0 {
		return m.in.Errorf("vertex %d: a weight is missing at the end", rank+1)
	}
	return nil
}

func (m *metis) add(a, b int32, weight int64) {
	if a < b {
		m.up = append(m.up, Edge{a, b, weight})
	} else {
		m.down = append(m.down, Edge{b, a, weight})
	}
}

// check refuses edges that are not there from both ends, or more than once.
func (m *metis) check() error {
	order := func(x, y Edge) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) }
	slices.SortFunc(m.up, order)
	slices.SortFunc(m.down, order)
	for i := range max(len(m.up), len(m.down)) {
		var e Edge
		switch {
		case i >= len(m.up):
			e = m.down[i]
		case i >= len(m.down) || m.up[i] == m.down[i] || order(m.up[i], m.down[i]) < 0:
			e = m.up[i]
		default:
			e = m.down[i]
		}
		if i >= len(m.up) || i >= len(m.down) || m.up[i] != m.down[i] {
			return fmt.Errorf("edge between vertices %d and %d: expected it in the lines of both, with one weight", e.A+1, e.B+1)
		}
		if i > 0 && order(m.up[i-1], e) == 0 {
			return fmt.Errorf("edge between vertices %d and %d comes twice", e.A+1, e.B+1)
		}
	}
	if len(m.up) != m.edges {
		return fmt.Errorf("%d edges: the header says %d", len(m.up), m.edges)
	}
	return nil
}

// WriteMETIS writes the graph in METIS' form, with weights of edges. The error is
// w's.
func (g *Graph) WriteMETIS(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%d %d 1\n", g.Ranks(), g.Edges())
	var line []byte
	for r := range int32(g.Ranks()) {
		line = line[:0]
		peers, weights := g.Peers(r)
		for i, p := range peers {
			if i > 0 {
				line = append(line, ' ')
			}
			line = strconv.AppendInt(line, int64(p)+1, 10)
			line = append(line, ' ')
			line = strconv.AppendInt(line, weights[i], 10)
		}
		out.Write(append(line, '\n'))
	}
	return out.Flush()
}

package commgraph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of graphs that are asked for in a word: such a graph takes 16 bytes for
// each edge, and as much again while it is made.
const (
	maxSpec      = 256 // bytes
	maxSpecEdges = 1 << 25
	maxUniform   = 1 << 13 // ranks
	maxDims      = 8
)

// kinds of graphs, by the word before the colon.
var kinds = []struct {
	name, example string
	read          func(words []string) (*Graph, error)
}{
	{"cart", "cart:8x8x8:periodic:26", readCart},
	{"uniform", "uniform:64", readUniform},
}

// Is says whether text is meant as a spec, so that Parse reports its errors, and not as
// the name of a file.
func Is(text string) bool {
	word, _, colon := strings.Cut(text, ":")
	for _, k := range kinds {
		if colon && k.name == word {
			return true
		}
	}
	return false
}

// Parse makes the graph that text describes:
//
//	cart:8x8x8                  a grid as MPI_Cart_create numbers it, the last
//	                            dimension fastest, each rank with its neighbors
//	                            in each dimension, 2 for each
//	cart:8x8x8:periodic         the same with ends that are joined; open is the
//	                            default
//	cart:8x8x8:periodic:26      with so many neighbors: 6 (faces), 18 (and edges)
//	                            or 26 (and corners) in three dimensions, 8, 32,
//	                            64 or 80 in four; 7, 19, 27 count the rank itself
//	cart:8x8x8:periodic:26:64/8/1
//	                            with weights of faces, edges and corners, as of
//	                            blocks of 8 x 8 x 8 cells; else all are 1
//	uniform:64                  all with all, weight 1
//
// Where a periodic dimension has two ranks, they are neighbors on both sides, and the
// weight counts twice. The error names the wrong part, and the forms expected.
func Parse(text string) (*Graph, error) {
	if len(text) > maxSpec {
		return nil, fmt.Errorf("communication graph of %d bytes: expected at most %d", len(text), maxSpec)
	}
	words := strings.Split(text, ":")
	var examples []string
	for _, k := range kinds {
		if examples = append(examples, k.example); k.name != words[0] || len(words) < 2 {
			continue
		}
		g, err := k.read(words[1:])
		if err != nil {
			return nil, fmt.Errorf("communication graph %q: %w (such as %s)", text, err, k.example)
		}
		return g, nil
	}
	return nil, fmt.Errorf("communication graph %q: expected one of %s", text, strings.Join(examples, ", "))
}

func readUniform(words []string) (*Graph, error) {
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > maxUniform || len(words) > 1 {
		return nil, fmt.Errorf("%q: expected the number of ranks, 1 to %d", strings.Join(words, ":"), maxUniform)
	}
	edges := make([]Edge, 0, n*(n-1)/2)
	for a := range int32(n) {
		for b := a + 1; b < int32(n); b++ {
			edges = append(edges, Edge{a, b, 1})
		}
	}
	return New(n, edges)
}

// cart is a grid of ranks, each with those around it.
type cart struct {
	dims     []int
	periodic bool
	weights  []int64 // by the number of dimensions in which neighbors differ, from 1
}

func readCart(words []string) (*Graph, error) {
	c := cart{}
	ranks := 1
	for word := range strings.SplitSeq(words[0], "x") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > MaxRanks || len(c.dims) == maxDims {
			return nil, fmt.Errorf("%q: expected up to %d sizes, such as 8x8x8", words[0], maxDims)
		}
		c.dims = append(c.dims, n)
		if ranks *= n; ranks > MaxRanks {
			return nil, fmt.Errorf("%q: more than %d ranks", words[0], MaxRanks)
		}
	}
	words = words[1:]
	if len(words) > 0 && (words[0] == "periodic" || words[0] == "open") {
		c.periodic = words[0] == "periodic"
		words = words[1:]
	}
	neighbors, err := c.reach(&words)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 {
		parts := strings.Split(words[0], "/")
		if len(parts) != len(c.weights) || len(words) > 1 {
			return nil, fmt.Errorf("%q: expected %d weights, such as 64/8/1, and no more", strings.Join(words, ":"), len(c.weights))
		}
		for i, part := range parts {
			if c.weights[i], err = strconv.ParseInt(part, 10, 64); err != nil || c.weights[i] < 0 || c.weights[i] > 1<<30 {
				return nil, fmt.Errorf("%q: expected a weight, 0 to %d", part, 1<<30)
			}
		}
	}
	if ranks*neighbors/2 > maxSpecEdges {
		return nil, fmt.Errorf("%d ranks with %d neighbors: more than %d edges", ranks, neighbors, maxSpecEdges)
	}
	return New(ranks, c.edges(ranks))
}

// reach reads the number of neighbors, which says in how many dimensions a
// neighbor may differ: the length of the weights. It returns the number.
func (c *cart) reach(words *[]string) (int, error) {
	neighbors, way := 0, 1 // with 0, 1, ... dimensions: d choose k, 2^k
	var counts []string
	for k := 1; k <= len(c.dims); k++ {
		way = way * (len(c.dims) - k + 1) / k
		neighbors += way << k
		counts = append(counts, strconv.Itoa(neighbors))
		c.weights = append(c.weights, 1)
		given := ""
		if len(*words) > 0 {
			given = (*words)[0]
		}
		switch given {
		case "":
			return neighbors, nil
		case strconv.Itoa(neighbors), strconv.Itoa(neighbors + 1):
			*words = (*words)[1:]
			return neighbors, nil
		}
	}
	return 0, fmt.Errorf("%q: expected periodic, open or the number of neighbors: %s", (*words)[0], strings.Join(counts, ", "))
}

// edges has each pair of neighbors, from the one for which the other is ahead in
// the first dimension in which they differ.
func (c *cart) edges(ranks int) []Edge {
	var edges []Edge
	offset, at := make([]int, len(c.dims)), make([]int, len(c.dims))
	for i := range offset {
		offset[i] = -1
	}
	for more := true; more; more = c.advance(offset) {
		differ := len(offset)
		for _, o := range offset {
			if o == 0 {
				differ--
			}
		}
		if differ == 0 || differ > len(c.weights) || slices.Compare(offset, make([]int, len(offset))) < 0 {
			continue
		}
		for a := range ranks {
			for i, rest := len(at)-1, a; i >= 0; i-- {
				at[i] = rest % c.dims[i]
				rest /= c.dims[i]
			}
			if b, ok := c.rank(at, offset); ok {
				edges = append(edges, Edge{int32(a), int32(b), c.weights[differ-1]})
			}
		}
	}
	return edges
}

// advance goes to the next offset; false after the last.
func (c *cart) advance(offset []int) bool {
	for i := len(offset) - 1; i >= 0; i-- {
		if offset[i]++; offset[i] <= 1 {
			return true
		}
		offset[i] = -1
	}
	return false
}

// rank returns the rank at a place and an offset from there; false beyond an open end.
func (c *cart) rank(at, offset []int) (int, bool) {
	rank := 0
	for i, n := range c.dims {
		x := at[i] + offset[i]
		if (x < 0 || x >= n) && !c.periodic {
			return 0, false
		}
		rank = rank*n + (x+n)%n
	}
	return rank, true
}

package commgraph

import (
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

// isMatrix knows a line of numbers with commas between them.
func isMatrix(line string) bool {
	word, _, comma := strings.Cut(line, ",")
	_, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
	return comma && err == nil && !strings.Contains(line, "=")
}

// readMatrix reads a square matrix: line i has the weights of rank i to each rank,
// separated by commas, as the study of mappings MapLib has it.
func readMatrix(in *lines.Reader) (*Graph, []string, error) {
	var edges []Edge
	ranks, rank := 0, 0
	for in.Next() {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		text = strings.TrimSuffix(text, ",")
		if rank == 0 {
			ranks = strings.Count(text, ",") + 1
		}
		if ranks > MaxRanks || rank >= ranks {
			return nil, nil, in.Errorf("row %d of a matrix of %d columns: expected as many rows, at most %d", rank+1, ranks, MaxRanks)
		}
		column := 0
		for word := range strings.SplitSeq(text, ",") {
			weight, err := readAmount(in, strings.TrimSpace(word))
			if err != nil {
				return nil, nil, err
			}
			if weight > 0 && column < ranks && column != rank {
				edges = append(edges, Edge{int32(rank), int32(column), weight})
			}
			column++
		}
		if column != ranks || len(edges) > MaxEdges {
			return nil, nil, in.Errorf("%d numbers: expected %d, as in the first row", column, ranks)
		}
		rank++
	}
	if err := in.Err(); err != nil {
		return nil, nil, err
	}
	if rank < ranks {
		return nil, nil, in.Errorf("the file ends after %d rows: expected %d, as there are columns", rank, ranks)
	}
	g, err := New(ranks, edges)
	if err != nil {
		return nil, nil, in.At(0, "%w", err)
	}
	return g, nil, nil
}

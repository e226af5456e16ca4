package commgraph

import (
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

// isList knows a line such as "0 , 27 = 4.0".
func isList(line string) bool {
	_, after, ok := strings.Cut(line, ",")
	return ok && strings.Contains(after, "=")
}

// statistic knows a line that scripts add at the end, such as "Average Degree: 3".
func statistic(line string) bool { return strings.Contains(line, ":") && !strings.Contains(line, "=") }

// readList reads lines "i , j = bytes" of ranks i and j, from 0, in any order. A pair
// that is there from both ends counts with the sum. There are as many ranks as the
// highest number says.
func readList(in *lines.Reader) (*Graph, []string, error) {
	var edges []Edge
	most := int64(0)
	for in.Next() {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' || strings.HasPrefix(text, "--") || statistic(text) {
			continue
		}
		pair, amount, ok := strings.Cut(text, "=")
		from, to, comma := strings.Cut(pair, ",")
		if !ok || !comma {
			return nil, nil, in.Expected(text, "a line such as \"0 , 27 = 4096\"")
		}
		a, err := in.Number(strings.TrimSpace(from), "a rank", MaxRanks-1)
		if err != nil {
			return nil, nil, err
		}
		b, err := in.Number(strings.TrimSpace(to), "a rank", MaxRanks-1)
		if err != nil {
			return nil, nil, err
		}
		weight, err := readAmount(in, strings.TrimSpace(amount))
		if err != nil {
			return nil, nil, err
		}
		if len(edges) >= MaxEdges {
			return nil, nil, in.Errorf("more than %d lines", MaxEdges)
		}
		most = max(most, a, b)
		edges = append(edges, Edge{int32(a), int32(b), weight})
	}
	if err := in.Err(); err != nil {
		return nil, nil, err
	}
	g, err := New(int(most)+1, edges)
	if err != nil {
		return nil, nil, in.At(0, "%w", err)
	}
	return g, nil, nil
}

package commgraph

import (
	"fmt"
	"strings"
)

// isList knows a line such as "0 , 27 = 4.0".
func isList(line string) bool {
	_, after, ok := strings.Cut(line, ",")
	return ok && strings.Contains(after, "=")
}

// statistic knows a line that scripts add at the end, such as "Average Degree: 3".
func statistic(line string) bool { return strings.Contains(line, ":") && !strings.Contains(line, "=") }

// readList reads lines "i , j = bytes", in any order: what ranks i and j send each
// other, from 0. A pair that is there from both ends counts with the sum. There are
// as many ranks as the highest number says.
func readList(in *lines) (*Graph, []string, error) {
	var edges []Edge
	most := int64(0)
	for in.next() {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' || strings.HasPrefix(text, "--") || statistic(text) {
			continue
		}
		pair, amount, ok := strings.Cut(text, "=")
		from, to, comma := strings.Cut(pair, ",")
		if !ok || !comma {
			return nil, nil, in.errorf("%s: expected a line such as \"0 , 27 = 4096\"", shown(text))
		}
		a, err := in.number(strings.TrimSpace(from), "a rank", MaxRanks-1)
		if err != nil {
			return nil, nil, err
		}
		b, err := in.number(strings.TrimSpace(to), "a rank", MaxRanks-1)
		if err != nil {
			return nil, nil, err
		}
		weight, err := in.amount(strings.TrimSpace(amount))
		if err != nil {
			return nil, nil, err
		}
		if len(edges) >= MaxEdges {
			return nil, nil, in.errorf("more than %d lines", MaxEdges)
		}
		most = max(most, a, b)
		edges = append(edges, Edge{int32(a), int32(b), weight})
	}
	if err := in.end(); err != nil {
		return nil, nil, err
	}
	g, err := New(int(most)+1, edges)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", in.name, err)
	}
	return g, nil, nil
}

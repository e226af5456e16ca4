package tii

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

// MaxLine bounds a query's line, in bytes, without its end.
const MaxLine = 64 << 10

// A Query is one line that a service is asked. Its forms:
//
//	query A:B            the route from host A to host B [Subramoni 2.8.1]
//	query A:B,C,D        bulk: the routes from A to several hosts; * is all
//	depth                tii_get_network_depth
//	clusters DEPTH A,B,C tii_num_switch_clusters_at_depth
//	cluster DEPTH A      tii_connected_switch_cluster_at_depth
//	matrix A,B,C         tii_get_network_path_matrix, as hops
//	sharing A,B,C        tii_get_hosts_sharing_links
//	leaf A,B,C           tii_get_avg_hosts_per_leaf_switch
//	network              what the service knows the network by
//
// Hosts are given as names or as lists, such as n[001-128].
type Query struct {
	Word  string
	From  string // of query, else empty
	Depth int    // of cluster and clusters, else 0
	Hosts string // a list, * for all, empty where there is none to give
}

// words are the first words of queries, with the arguments that follow each.
var words = []struct {
	name               string
	from, depth, hosts bool
}{
	{name: "query", from: true, hosts: true},
	{name: "depth"},
	{name: "clusters", depth: true, hosts: true},
	{name: "cluster", depth: true, hosts: true},
	{name: "matrix", hosts: true},
	{name: "sharing", hosts: true},
	{name: "leaf", hosts: true},
	{name: "network"},
}

// ParseQuery reads a line. Its errors have the forms expected.
func ParseQuery(line string) (Query, error) {
	if len(line) > MaxLine {
		return Query{}, fmt.Errorf("a query of %d bytes: expected at most %d", len(line), MaxLine)
	}
	if !printable(line) {
		return Query{}, errors.New("a byte that is no printable character: expected a line of text")
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	q := Query{Word: name}
	for _, w := range words {
		if w.name != name {
			continue
		}
		rest = strings.TrimSpace(rest)
		if w.from {
			from, to, ok := strings.Cut(rest, ":")
			if !ok || from == "" {
				return Query{}, fmt.Errorf("%s: expected two hosts, such as query n001:n002", lines.Show(rest))
			}
			q.From, rest = from, to
		}
		if w.depth {
			text, more, _ := strings.Cut(rest, " ")
			depth, err := strconv.Atoi(text)
			if err != nil || depth < 1 || depth > 1<<16 {
				return Query{}, fmt.Errorf("%s: expected a depth, from 1", lines.Show(text))
			}
			q.Depth, rest = depth, strings.TrimSpace(more)
		}
		if w.hosts {
			q.Hosts, rest = rest, ""
			if q.Hosts == "" {
				return Query{}, fmt.Errorf("%s: expected hosts behind it, such as n[001-128]", name)
			}
		}
		if strings.ContainsAny(q.From+q.Hosts+rest, " \t") || rest != "" {
			return Query{}, fmt.Errorf("%s: expected no more words", lines.Show(line))
		}
		return q, nil
	}
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = w.name
	}
	return Query{}, fmt.Errorf("%s: expected one of %s", lines.Show(name), strings.Join(known, ", "))
}

// String returns the line of a query.
func (q Query) String() string {
	line := q.Word
	if q.Depth > 0 {
		line += " " + strconv.Itoa(q.Depth)
	}
	if q.From != "" {
		line += " " + q.From + ":" + q.Hosts
	} else if q.Hosts != "" {
		line += " " + q.Hosts
	}
	return line
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' && text[i] != '\t' || text[i] == 0x7f {
			return false
		}
	}
	return true
}

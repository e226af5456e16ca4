package profile

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/golaunch/golaunch/network/commgraph"
)

// Graph returns the communication graph of the world: between each two ranks the bytes
// that they sent each other, collective operations as LikeMPICH. Notes are hints for
// the user, whole sentences. The error is that nothing was sent, or the graph's.
func (v *World) Graph() (g *commgraph.Graph, notes []string, err error) {
	x := v.Expand(LikeMPICH)
	edges := make([]commgraph.Edge, 0, len(v.Sent)+len(x.Sent))
	bytes := int64(0)
	for _, s := range slices.Concat(v.Sent, x.Sent) {
		if s.Source != s.Destination {
			bytes += s.Bytes
			edges = append(edges, commgraph.Edge{A: s.Source, B: s.Destination, Weight: s.Bytes})
		}
	}
	if bytes == 0 {
		return nil, nil, fmt.Errorf("no rank sent another one anything")
	}
	notes = x.Notes
	if n := len(v.Missing); n > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d ranks have no profile: their messages are not in it", n, v.Size))
	}
	if v.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("%d calls of collective operations are not in it", v.Dropped))
	}
	g, err = commgraph.New(v.Size, edges)
	return g, notes, err
}

// ReadGraph reads a communication graph from a file: a profile, of which the first
// world counts, or a form that commgraph.Read knows. Errors call the file name.
func ReadGraph(r io.Reader, name string) (*commgraph.File, error) {
	in := bufio.NewReader(r)
	if beginning, _ := in.Peek(256); !Is(beginning) { // an error comes again
		return commgraph.Read(in, name)
	}
	p, err := Read(in, name)
	if err != nil {
		return nil, err
	}
	g, notes, err := p.Worlds[0].Graph()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &commgraph.File{Graph: g, Form: "profile", Notes: notes}, nil
}

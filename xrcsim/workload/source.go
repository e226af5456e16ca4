package workload

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/topology"
)

// Source makes the pattern of a program for a number of ranks.
type Source struct {
	Name  string
	Ranks int // that it is for; 0 where it is for any number that Peers takes
	make  func(ranks int) (Peers, error)
}

// kinds are the words before the first colon.
var kinds = []struct {
	name, example string
	parse         func(words []string) ([]Source, error)
}{
	{"npb", "npb:ft:D", parseNPB},
	{"cart", "cart:3d:periodic:26", parseCart},
	{"alltoall", "alltoall", parseAll},
	{"random", "random:16", parseRandom},
	{"none", "none", parseNone},
}

// Is says whether text is meant as a word, and not as the name of a file.
func Is(text string) bool {
	word, _, _ := strings.Cut(text, ":")
	for _, k := range kinds {
		if k.name == word {
			return true
		}
	}
	return false
}

// Examples returns words, one of each kind.
func Examples() []string {
	var list []string
	for _, k := range kinds {
		list = append(list, k.example)
	}
	return list
}

// Parse reads a word; several sources come of npb alone:
//
//	npb                    the eight benchmarks
//	npb:ft, npb:ft:D       one, of class B or the one that is named
//	cart:8x8x8             a stencil of that size, as commgraph.Parse has it
//	cart:3d                one of three dimensions, for any number of ranks
//	cart:3d:periodic:26    with joined ends, and 26 neighbors
//	alltoall               all exchange with all
//	random:16              pairs at random, 16 for each rank on average
//	random:16:7            the same by seed 7, where 1 is the default
//	none                   no messages but those of MPI_Init
//
// The error names what is wrong and what was expected.
func Parse(text string) ([]Source, error) {
	words := strings.Split(text, ":")
	for _, k := range kinds {
		if k.name != words[0] {
			continue
		}
		list, err := k.parse(words[1:])
		if err != nil {
			return nil, fmt.Errorf("workload %q: %w (such as %s)", text, err, k.example)
		}
		return list, nil
	}
	return nil, fmt.Errorf("workload %q: expected one of %s", text, strings.Join(Examples(), ", "))
}

// Peers returns the pattern for so many ranks. The error explains a number that does
// not fit.
func (s Source) Peers(ranks int) (Peers, error) {
	if ranks < 1 || ranks > MaxRanks {
		return nil, fmt.Errorf("workload %s: %d ranks: expected 1 to %d", s.Name, ranks, MaxRanks)
	}
	if s.Ranks > 0 && ranks != s.Ranks {
		return nil, fmt.Errorf("workload %s: %d ranks: it is for %d", s.Name, ranks, s.Ranks)
	}
	p, err := s.make(ranks)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %d ranks: %w", s.Name, ranks, err)
	}
	return p, nil
}

// FromGraph returns the pattern of a graph, without its weights.
func FromGraph(name string, g *commgraph.Graph) Source {
	return Source{name, g.Ranks(), func(int) (Peers, error) { return graphPeers(g), nil }}
}

func graphPeers(g *commgraph.Graph) Peers {
	return func(s *Set, rank int) {
		peers, _ := g.Peers(int32(rank))
		s.single = append(s.single, peers...)
	}
}

func parseAll(words []string) ([]Source, error) {
	if len(words) > 0 {
		return nil, fmt.Errorf("%q: expected nothing more", strings.Join(words, ":"))
	}
	return []Source{{"alltoall", 0, func(ranks int) (Peers, error) { return All(ranks), nil }}}, nil
}

func parseNone(words []string) ([]Source, error) {
	if len(words) > 0 {
		return nil, fmt.Errorf("%q: expected nothing more", strings.Join(words, ":"))
	}
	return []Source{{"none", 0, func(int) (Peers, error) { return Nobody, nil }}}, nil
}

// maxRandom bounds how many peers random pairs give a rank on average.
const maxRandom = 64

func parseRandom(words []string) ([]Source, error) {
	seed := uint64(1)
	if len(words) < 1 || len(words) > 2 {
		return nil, fmt.Errorf("expected a number of peers, and maybe a seed")
	}
	degree, err := strconv.Atoi(words[0])
	if err != nil || degree < 1 || degree > maxRandom {
		return nil, fmt.Errorf("%q: expected a number of peers, 1 to %d", words[0], maxRandom)
	}
	if len(words) == 2 {
		if seed, err = strconv.ParseUint(words[1], 10, 64); err != nil {
			return nil, fmt.Errorf("%q: expected a seed, 0 to %d", words[1], uint64(1<<64-1))
		}
	}
	return []Source{{"random:" + strings.Join(words, ":"), 0, func(ranks int) (Peers, error) { return random(ranks, degree, seed) }}}, nil
}

// random joins each rank in turn with one that is drawn, until ranks have so many
// peers on average, but for pairs that are drawn twice.
func random(ranks, degree int, seed uint64) (Peers, error) {
	edges := make([]commgraph.Edge, 0, ranks*degree/2)
	state := topology.Mix(seed)
	for i := range ranks * degree / 2 {
		state += topology.MixStep
		edges = append(edges, commgraph.Edge{A: int32(i % ranks), B: int32(topology.Mix(state) % uint64(ranks)), Weight: 1})
	}
	g, err := commgraph.New(ranks, edges)
	if err != nil {
		return nil, err
	}
	return graphPeers(g), nil
}

package workload

import (
	"errors"
	"fmt"
	"strings"
)

// benchmark is one of the NAS Parallel Benchmarks, as version 3.3 has them for MPI.
type benchmark struct {
	name  string
	legal func(c *class, ranks int) error // reports what is wrong with a number of ranks
	peers func(c *class, ranks int) Peers // of a legal one
}

// benchmarks are in the order of [Sridhar, table 4.2].
var benchmarks = []benchmark{
	{"bt", legalMultipartition, multipartition},
	{"cg", powerOfTwo, cg},
	{"ep", legalEP, func(*class, int) Peers { return Nobody }},
	{"ft", legalFT, ft},
	{"is", legalIS, func(_ *class, ranks int) Peers { return All(ranks) }},
	{"lu", legalLU, lu},
	{"mg", legalMG, mg},
	{"sp", legalMultipartition, multipartition},
}

// class is a problem size of the benchmarks.
type class struct {
	name string
	grid int    // points in each dimension of BT, LU and SP
	cube int    // points in each dimension of MG
	ft   [3]int // points in each dimension of FT
	ep   int    // EP makes 2^ep pairs of numbers
}

var classes = []class{
	{name: "B", grid: 102, cube: 256, ft: [3]int{512, 256, 256}, ep: 30},
	{name: "C", grid: 162, cube: 512, ft: [3]int{512, 512, 512}, ep: 32},
	{name: "D", grid: 408, cube: 1024, ft: [3]int{2048, 1024, 1024}, ep: 36},
	{name: "E", grid: 1020, cube: 2048, ft: [3]int{4096, 2048, 2048}, ep: 40},
	{name: "F", grid: 2560, cube: 4096, ft: [3]int{8192, 4096, 4096}, ep: 44},
}

// parseNPB reads "npb", "npb:ft" or "npb:ft:D": class B where none is named, and
// all benchmarks of it where none of these is.
func parseNPB(words []string) ([]Source, error) {
	c := &classes[0]
	if len(words) > 1 {
		if c = findClass(words[1]); c == nil || len(words) > 2 {
			return nil, fmt.Errorf("%q: expected a class, B to F", strings.Join(words[1:], ":"))
		}
	}
	var names []string
	var list []Source
	for _, b := range benchmarks {
		names = append(names, b.name)
		if len(words) > 0 && !strings.EqualFold(words[0], b.name) {
			continue
		}
		name := "npb:" + b.name
		if c.name != classes[0].name {
			name += ":" + c.name
		}
		list = append(list, Source{Name: name, make: func(ranks int) (Peers, error) {
			if err := b.legal(c, ranks); err != nil {
				return nil, err
			}
			return b.peers(c, ranks), nil
		}})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%q: expected one of %s", words[0], strings.Join(names, ", "))
	}
	return list, nil
}

func findClass(name string) *class {
	for i := range classes {
		if strings.EqualFold(classes[i].name, name) {
			return &classes[i]
		}
	}
	return nil
}

// tooMany is the error about a problem that is too small for the ranks.
func (c *class) tooMany(most int) error {
	return fmt.Errorf("class %s takes at most %d; a larger class takes more", c.name, most)
}

func powerOfTwo(_ *class, ranks int) error {
	if ranks&(ranks-1) != 0 {
		return errors.New("it takes a power of two")
	}
	return nil
}

// legalEP wants a batch of 2^16 pairs for each rank.
func legalEP(c *class, ranks int) error {
	if most := 1 << (c.ep - 16); ranks > most {
		return c.tooMany(most)
	}
	return nil
}

// legalIS knows the constant of the benchmark's source, which no class changes.
func legalIS(_ *class, ranks int) error {
	if ranks > 1024 {
		return errors.New("it takes at most 1024")
	}
	return powerOfTwo(nil, ranks)
}

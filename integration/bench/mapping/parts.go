package mapping

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/mapping"
)

// quoted has published results of other mappers.
type quoted struct {
	viem, treeMatch float64 // 0 where there is none
	asked           float64 // at most, 0 where nothing was asked for
}

// knowns are the graphs of 512 ranks, with hop-bytes.
var knowns = []struct {
	name, file string
	quoted     map[string]quoted // by the network's family
}{
	{"st6", "commgraph/st6_888.graph", map[string]quoted{
		"torus": {asked: 1344}, "tree": {4224, 4256, 4224 * 1.01}, "dragonfly": {4098, 4142, 4098 * 1.01}}},
	{"st26", "commgraph/st26_888p.graph", map[string]quoted{
		"torus": {asked: 153600}, "tree": {461632, 461632, 461632 * 1.01}, "dragonfly": {423790, 424080, 422848 * 1.01}}},
	{"rgg512", "commgraph/rgg512.graph", map[string]quoted{
		"torus": {asked: 691600}, "tree": {1107320, 1190280, 1110600}, "dragonfly": {1069592, 1125890, 1037500}}},
}

func known(r *run) error {
	r.printf("\n## Two stencils and a random geometric graph, 512 ranks\n\nst6 is an open grid of 8 × 8 × 8 ranks with 6 neighbors, st26 the " +
		"periodic one with 26 and weights 64, 8 and 1; rgg512 has 512\nrandom points in a periodic cube. Hop-bytes; a dash is what is not " +
		"known or not defined there.\n\n" +
		"| graph | network | default | Scotch | VieM | TreeMatch | mapped | refined | asked: at most | reached | of | s | refined s |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, k := range knowns {
		f, err := r.graph(k.file)
		if err != nil {
			return err
		}
		for _, n := range networks[f.Graph.Ranks()] {
			c, err := r.compare(f.Graph, n)
			if err != nil {
				return err
			}
			q := k.quoted[n.family]
			r.printf("| %s | %s | %.0f | %s | %s | %s | %.0f | **%.0f** | %.0f | %s | %s | %.2f | %.2f |\n", k.name, n.spec, c.standard,
				whole(c.scotch), whole(q.viem), whole(q.treeMatch), c.mapped.HopBytes, c.refined.HopBytes, q.asked,
				yes(c.refined.HopBytes <= q.asked), c.mapped.Name, c.took, c.tookMore)
		}
	}
	return nil
}

// applications are recorded programs, with quoted averages by the network's family.
var applications = []struct {
	name, file string
	quoted     map[string]quoted
}{
	{"miniFE", "commmatrix/proxyapps/miniFE-1024_ranks.txt", map[string]quoted{"tree": {2.838, 3.111, 0}, "dragonfly": {3.013, 3.115, 0}}},
	{"NPB-CG", "commmatrix/proxyapps/NPB-cg_results-1024_ranks.txt", map[string]quoted{"tree": {2.953, 2.953, 0}, "dragonfly": {2.949, 2.948, 0}}},
	{"NPB-MG", "commmatrix/proxyapps/NPB-mg_results-1024_ranks.txt", map[string]quoted{"tree": {3.113, 3.101, 0}, "dragonfly": {3.159, 3.134, 0}}},
	{"miniFE", "commmatrix/proxyapps/miniFE-64_ranks.txt", nil},
	{"NPB-CG", "commmatrix/proxyapps/NPB-cg_results-64_ranks.txt", nil},
	{"NPB-MG", "commmatrix/proxyapps/NPB-mg_results-64_ranks.txt", nil},
	{"CoMD", "commmatrix/proxyapps/CoMD-64_ranks.txt", nil},
	{"MapLib's CG", "commmatrix/maplib/cg.64.size.csv", nil},
	{"MapLib's CG, messages", "commmatrix/maplib/cg.64.count.csv", nil},
}

func programs(r *run) error {
	r.printf("\n## Recorded programs\n\nHop-bytes per byte, the mean distance that a byte goes. At most 1.01 times the best of the default " +
		"order, Scotch, VieM and\nTreeMatch is asked for. The best that the study of MapLib publishes for its CG on the torus is 1.161.\n\n" +
		"| program | ranks | network | default | Scotch | VieM | TreeMatch | mapped | refined | reached | of | s | refined s |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	notes := map[string]bool{}
	var list []string
	for _, a := range applications {
		f, err := r.graph(a.file)
		if err != nil {
			return err
		}
		for _, note := range f.Notes {
			if note = fmt.Sprintf("%s, %d ranks: %s", a.name, f.Graph.Ranks(), note); !notes[note] {
				notes[note], list = true, append(list, note)
			}
		}
		for _, n := range networks[f.Graph.Ranks()] {
			c, err := r.compare(f.Graph, n)
			if err != nil {
				return err
			}
			q := a.quoted[n.family]
			best := least(c.standard/c.total, c.scotch/c.total, q.viem, q.treeMatch)
			r.printf("| %s | %d | %s | %.3f | %s | %s | %s | %.3f | **%.3f** | %s | %s | %.2f | %.2f |\n", a.name, c.ranks, n.spec, c.standard/c.total,
				mean(c.scotch/c.total), mean(q.viem), mean(q.treeMatch), c.mapped.HopBytes/c.total, c.refined.HopBytes/c.total,
				yes(c.refined.HopBytes/c.total <= 1.01*best), c.mapped.Name, c.took, c.tookMore)
		}
	}
	r.printf("\nWhat the reader says of these files:\n\n")
	for _, note := range list {
		r.printf("- %s.\n", note)
	}
	return nil
}

// random compares with Scotch on graphs like rgg512.
func random(r *run) error {
	r.printf("\n## Random geometric graphs, 512 ranks\n\nRandom points in a periodic cube; those nearer than *d* = 0.15 to 0.25 communicate, with weight " +
		"1000 (1 − distance/*d*)².\nHop-bytes, mapped and refined, as a share of Scotch's.\n\n| seed | d | edges |")
	for _, n := range networks[512] {
		r.printf(" %s mapped | refined |", n.spec)
	}
	r.printf("\n|---|---|---|---|---|---|---|---|---|\n")
	most := make([]float64, 2*len(networks[512]))
	for seed := range uint64(r.seeds) {
		radius := 0.15 + 0.1*float64(seed)/float64(max(1, r.seeds-1))
		g, err := geometric(512, radius, seed+1)
		if err != nil {
			return err
		}
		r.printf("| %d | %.3f | %d |", seed+1, radius, g.Edges())
		for i, n := range networks[512] {
			c, err := r.compare(g, n)
			if err != nil {
				return err
			}
			if c.scotch == 0 {
				r.printf(" - | - |")
				continue
			}
			r.printf(" %.3f | %.3f |", c.mapped.HopBytes/c.scotch, c.refined.HopBytes/c.scotch)
			most[2*i] = max(most[2*i], c.mapped.HopBytes/c.scotch)
			most[2*i+1] = max(most[2*i+1], c.refined.HopBytes/c.scotch)
		}
		r.printf("\n")
	}
	r.printf("| greatest | | |")
	for _, x := range most {
		r.printf(" %.3f |", x)
	}
	r.printf("\n")
	return nil
}

// grids shows the distances of messages of stencils, before and after.
func grids(r *run) error {
	r.printf("\n## How far messages go\n\nThe share of the weight that goes so far, in links (on tori: between routers); each pair of ranks counts once.\n\n" +
		"| graph | network | order | share by distance |\n|---|---|---|---|\n")
	for _, x := range []struct{ graph, network string }{
		{"cart:8x8x8:periodic:26", "torus:8x8x8"}, {"cart:8x8x8:26", "xgft:8,8,8/1,1,1"},
		{"cart:4x4x4x8:periodic:8", "torus:8x8x8"}, {"cart:4x4x4x8:periodic:8", "xgft:8,8,8/1,1,1"},
		{"cart:4x4x4x8:periodic:80", "dragonfly:p=4,a=8,h=2,g=16"},
	} {
		g, err := commgraph.Parse(x.graph)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(networks[512], func(n network) bool { return n.spec == x.network })
		t, err := networks[512][i].target(g.Ranks())
		if err != nil {
			return err
		}
		o, err := mapping.Choose(g, t, mapping.Options{Seed: 1, Steps: mapping.Steps})
		if err != nil {
			return err
		}
		for _, order := range []struct {
			name string
			mapping.Map
		}{{"default", mapping.Identity(g.Ranks())}, {o.Name, o.Map}} {
			var text []string
			for _, v := range mapping.Histogram(g, t, order.Map) {
				distance, _, _ := strings.Cut(v.Name, " ")
				text = append(text, fmt.Sprintf("%s: %.1f%%", distance, 100*float64(v.Weight)/float64(g.Total())))
			}
			r.printf("| %s | %s | %s | %s |\n", x.graph, x.network, order.name, strings.Join(text, ", "))
		}
	}
	return nil
}

// large maps one stencil of 65,536 ranks.
func large(r *run) error {
	r.printf("\n## 65,536 ranks\n\nA stencil of 6 neighbors. At most 20 s and 2 GB are asked for; memory is the most that the program has had so far.\n\n" +
		"| graph | network | default | mapped | of | s | refined | s | MB |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, x := range []struct{ graph, network, family string }{
		{"cart:64x32x32", "torus:32x32x64", "torus"}, {"cart:64x32x32", "xgft:16,64,64/1,1,1", "tree"},
	} {
		g, err := commgraph.Parse(x.graph)
		if err != nil {
			return err
		}
		var out [2]*mapping.Outcome
		var took [2]float64
		for i, steps := range []int64{0, mapping.Steps} {
			from := processor()
			t, err := network{x.family, x.network, ""}.target(g.Ranks())
			if err != nil {
				return err
			}
			if out[i], err = mapping.Choose(g, t, mapping.Options{Seed: 1, Steps: steps}); err != nil {
				return err
			}
			took[i] = processor() - from
		}
		r.printf("| %s | %s | %.0f | %.0f | %s | %.1f | **%.0f** | %.1f | %.0f |\n", x.graph, x.network, out[0].Default, out[0].HopBytes,
			out[0].Name, took[0], out[1].HopBytes, took[1], peak())
	}
	return nil
}

// whole renders hop-bytes, a dash for none.
func whole(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", x)
}

// mean renders a mean distance, a dash for none.
func mean(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", x)
}

func yes(reached bool) string {
	if reached {
		return "yes"
	}
	return "no"
}

// least returns the least of those that are not 0.
func least(list ...float64) float64 {
	best := math.Inf(1)
	for _, x := range list {
		if x > 0 {
			best = min(best, x)
		}
	}
	return best
}

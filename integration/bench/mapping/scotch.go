package mapping

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/mapping"
)

const gmap = "scotch_gmap"

// maxScotch is the greatest weight that Scotch is given: its sums are of 32 bits.
const maxScotch = 10000

// scotchIs names the Scotch of the comparison.
func scotchIs(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, gmap, "-V").CombinedOutput()
	if err != nil {
		return "scotch_gmap is not installed: there are no figures of Scotch (`apt-get install scotch`)."
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return fmt.Sprintf("Scotch is `%s -b0 -cq` of this run (%s), with a dragonfly described as a tree\n"+
		"(tleaf) of distances 2, 3 and 5. Weights are scaled to at most %d for it. Its maps differ by some percent from run to run.",
		gmap, first, maxScotch)
}

// scotch maps g by scotch_gmap; nil if that is not installed.
func scotch(ctx context.Context, g *commgraph.Graph, target string) (mapping.Map, error) {
	if _, err := exec.LookPath(gmap); errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "mapbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	graph, arch, out := filepath.Join(dir, "g.src"), filepath.Join(dir, "t.tgt"), filepath.Join(dir, "out.map")
	if err := errors.Join(os.WriteFile(graph, source(g), 0o600), os.WriteFile(arch, []byte(target+"\n"), 0o600)); err != nil {
		return nil, err
	}
	if text, err := exec.CommandContext(ctx, gmap, "-b0", "-cq", graph, arch, out).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", gmap, err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	m := make(mapping.Map, g.Ranks())
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Scan() // the number of lines
	for s.Scan() {
		var rank, place int32
		if _, err := fmt.Sscan(s.Text(), &rank, &place); err != nil || int(rank) >= len(m) || rank < 0 {
			return nil, fmt.Errorf("%s: line %q of its mapping", gmap, s.Text())
		}
		m[rank] = place
	}
	return m, m.Check(g.Ranks())
}

// source returns g in Scotch's form.
func source(g *commgraph.Graph) []byte {
	most := int64(1)
	for r := range int32(g.Ranks()) {
		_, weights := g.Peers(r)
		for _, w := range weights {
			most = max(most, w)
		}
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "0\n%d %d\n0 010\n", g.Ranks(), 2*g.Edges())
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		fmt.Fprint(&text, len(peers))
		for i, p := range peers {
			w := weights[i]
			if most > maxScotch {
				w = max(1, int64(float64(w)*maxScotch/float64(most)))
			}
			fmt.Fprint(&text, " ", w, " ", p)
		}
		fmt.Fprintln(&text)
	}
	return text.Bytes()
}

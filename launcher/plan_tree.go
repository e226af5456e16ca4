package launcher

import (
	"fmt"

	"github.com/golaunch/golaunch/tree"
)

// cutTree cuts the ranges of the tree where hosts are below different switches.
func (p *Plan) cutTree() {
	if p.network.depth == 0 {
		return
	}
	apart := make([]int, len(p.Hosts))
	for i := 1; i < len(apart); i++ {
		apart[i] = p.apart(i-1, i)
	}
	p.network.cut = tree.Cut(apart, p.Degree)
}

// apart is how many levels of switches part two hosts.
func (p *Plan) apart(i, j int) (levels int) {
	a, b := p.network.clusters[p.Hosts[i]], p.network.clusters[p.Hosts[j]]
	for d := range a {
		if a[d] != b[d] {
			levels++
		}
	}
	return levels
}

// treeText tells how many edges of the tree are between switches, "" where the network
// does not cut it.
func (p *Plan) treeText() string {
	cut := p.network.cut
	if cut == nil {
		return ""
	}
	between := 0
	var above []int // the hosts above the next one
	for i, below := range cut {
		for len(above) > 0 && above[len(above)-1]+cut[above[len(above)-1]] < i {
			above = above[:len(above)-1]
		}
		if len(above) > 0 && p.apart(above[len(above)-1], i) > 0 {
			between++
		}
		if below > 0 {
			above = append(above, i)
		}
	}
	switches := map[int]bool{}
	for _, h := range p.Hosts[:len(cut)] {
		switches[p.network.clusters[h][p.network.depth-1]] = true
	}
	return fmt.Sprintf("%d of %d edges between switches, of which there are %d", between, len(cut)-1, len(switches))
}

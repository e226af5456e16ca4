package page

import (
	"math"

	"github.com/golaunch/golaunch/network/topology"
)

// The kinds of drawings.
const (
	treeDrawing  = "tree"  // levels of switches above each other, the hosts below
	torusDrawing = "torus" // planes beside each other
	ringDrawing  = "ring"  // switches on a circle, the hosts around it
)

// layout returns the place of each switch.
func (d *drawer) layout(switches []topology.Node) (place [][2]float64, kind string) {
	if t, ok := d.graph.Family().(*topology.Torus); ok {
		d.fold = true
		return planes(t, switches), torusDrawing
	}
	level := d.levels()
	for _, link := range d.used {
		if level[d.graph.From(link).Node] == level[d.graph.To(link).Node] {
			d.fold = true
			return circle(len(switches), 0.36), ringDrawing
		}
	}
	top := 1
	row := map[int]int{} // switches of a level
	for _, s := range switches {
		top = max(top, level[s])
		row[level[s]]++
	}
	next := map[int]int{}
	for _, s := range switches {
		l := level[s]
		x := (float64(next[l]) + 0.5) / float64(row[l])
		next[l]++
		place = append(place, [2]float64{x, 1 - float64(l)/float64(top)})
	}
	return place, treeDrawing
}

// levels returns the distances of switches from the hosts; hosts have 0.
func (d *drawer) levels() map[topology.Node]int {
	level := map[topology.Node]int{}
	var queue []topology.Node
	for _, link := range d.used {
		for _, n := range []topology.Node{d.graph.From(link).Node, d.graph.To(link).Node} {
			if _, ok := level[n]; !ok && d.graph.IsHost(n) {
				level[n] = 0
				queue = append(queue, n)
			}
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, p := range d.graph.Ports(n) {
			if _, ok := level[p.Peer]; !ok {
				level[p.Peer] = level[n] + 1
				queue = append(queue, p.Peer)
			}
		}
	}
	return level
}

// planes returns the switches of a torus in planes of its first two dimensions, beside
// and below each other.
func planes(t *topology.Torus, switches []topology.Node) (place [][2]float64) {
	size := func(d int) int {
		if d < len(t.Dims) {
			return t.Dims[d]
		}
		return 1
	}
	rest := 1 // planes
	for d := 2; d < len(t.Dims); d++ {
		rest *= t.Dims[d]
	}
	across := int(math.Ceil(math.Sqrt(float64(rest))))
	down := (rest + across - 1) / across
	width, height := float64(across*(size(0)+1)), float64(down*(size(1)+1))
	for _, s := range switches {
		index := t.Index(s)
		x, y, plane := index%size(0), index/size(0)%size(1), index/(size(0)*size(1))
		place = append(place, [2]float64{
			(float64(plane%across*(size(0)+1)+x) + 0.75) / width,
			(float64(plane/across*(size(1)+1)+y) + 0.75) / height,
		})
	}
	return place
}

// circle has places around the middle.
func circle(n int, radius float64) (place [][2]float64) {
	for i := range n {
		angle := 2 * math.Pi * (float64(i)/float64(n) - 0.25)
		place = append(place, [2]float64{0.5 + radius*math.Cos(angle), 0.5 + radius*math.Sin(angle)})
	}
	return place
}

// placeHosts moves the hosts away from their leaf switches.
func (d *drawer) placeHosts() {
	hosts := d.Nodes[len(d.Nodes):]
	for i := range d.Nodes {
		if d.Nodes[i].Hosts > 0 {
			hosts = d.Nodes[i:]
			break
		}
	}
	for i := range hosts {
		h := &hosts[i]
		switch {
		case d.Kind == ringDrawing:
			h.X, h.Y = 0.5+(h.X-0.5)*1.3, 0.5+(h.Y-0.5)*1.3
		case d.Kind == torusDrawing:
			// The script draws them beside their switch.
		case d.fold:
			h.Y = 1
		default:
			h.X, h.Y = (float64(i)+0.5)/float64(len(hosts)), 1
		}
	}
}

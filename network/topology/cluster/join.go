package cluster

// Join makes the tree of the hosts: it joins those at the least distance, all at once
// that are at this distance from each other, takes the farthest of their distances for
// that of the joint cluster, and begins anew, until there is nothing left to join
// [Subramoni, algorithm 1]. (The algorithm as printed takes a cluster's own diameter
// for its distance from the others; complete linkage, of which the text speaks, is
// meant.) Of equal pairs that with the lowest host comes first, where a cluster counts
// as its lowest host. Join uses d up.
func Join(d *Distances) *Tree {
	j := &joiner{d: d, node: make([]int32, d.hosts), tree: newTree(d.hosts)}
	j.active = make([]int32, d.hosts)
	for i := range d.hosts {
		j.active[i], j.node[i] = int32(i), int32(i)
	}
	var present [256]bool
	for i := range d.hosts {
		for _, hops := range d.row(i)[i+1:] {
			present[hops] = true
		}
	}
	// A join makes no distance less, and no new one: each comes up once.
	for hops := range Unreachable {
		if present[hops] {
			j.pass(hops)
		}
	}
	j.tree.finish()
	return j.tree
}

// A joiner keeps each cluster in the place of its lowest host.
type joiner struct {
	d      *Distances
	active []int32 // places that are not joined to a lower one, ascending
	gone   []bool  // of the places, in a pass
	node   []int32 // of the tree, at each place
	tree   *Tree
}

// pass joins all that are hops from each other. One look at each place is enough:
// joined clusters are farther than hops from all others, since joins take all that they
// can.
func (j *joiner) pass(hops uint8) {
	j.gone = make([]bool, j.d.hosts)
	var joined []int32
	for at, i := range j.active {
		if j.gone[i] {
			continue
		}
		row := j.d.row(int(i))
		joined = append(joined[:0], i)
		for _, k := range j.active[at+1:] {
			if row[k] == hops && !j.gone[k] {
				joined = append(joined, k)
			}
		}
		if joined = j.mutual(joined, hops); len(joined) > 1 {
			j.join(joined, hops)
		}
	}
	left := j.active[:0]
	for _, i := range j.active {
		if !j.gone[i] {
			left = append(left, i)
		}
	}
	j.active = left
}

// mutual drops from places whichever is not hops from each before it that stays.
func (j *joiner) mutual(places []int32, hops uint8) []int32 {
	for a := 1; a < len(places); a++ {
		row := j.d.row(int(places[a]))
		kept := places[:a+1]
		for _, b := range places[a+1:] {
			if row[b] == hops {
				kept = append(kept, b)
			}
		}
		places = kept
	}
	return places
}

// join makes places a cluster in the first of them.
func (j *joiner) join(places []int32, hops uint8) {
	children := make([]int32, len(places))
	for k, p := range places {
		children[k] = j.node[p]
		j.gone[p] = k > 0
	}
	row := j.d.row(int(places[0]))
	for _, p := range places[1:] {
		for k, hops := range j.d.row(int(p)) {
			row[k] = max(row[k], hops)
		}
	}
	for _, k := range j.active {
		j.d.row(int(k))[places[0]] = row[k]
	}
	j.node[places[0]] = j.tree.add(children, hops)
}

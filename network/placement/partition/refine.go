package partition

const (
	passes = 12 // of refine, at most
	// patience is the number of moves in a row that may bring nothing before a pass
	// ends; or a sixteenth of the vertices.
	patience = 120
)

// state ranks divisions: the balance counts first.
type state struct {
	over int   // ranks by which the sides differ from their sizes, beyond what is allowed
	cost int64 // cut and pull
}

func (s state) before(t state) bool {
	return s.over < t.over || s.over == t.over && s.cost < t.cost
}

func stateOf(c *graph, side []int8, size int) state {
	return state{max(0, abs(imbalance(c, side, size))-tolerance(c)), c.cost(side)}
}

// imbalance returns the number of ranks that side 0 has too many.
func imbalance(c *graph, side []int8, size int) int {
	n := -size
	for v, s := range side {
		if s == 0 {
			n += int(c.size[v])
		}
	}
	return n
}

// largest returns the size of the largest vertex.
func largest(c *graph) int {
	most := int32(1)
	for _, s := range c.size {
		most = max(most, s)
	}
	return int(most)
}

// tolerance returns the imbalance that is allowed: none where all vertices are ranks.
func tolerance(c *graph) int { return largest(c) - 1 }

// refine moves vertices from side to side while that improves the division
// [Fiduccia and Mattheyses].
func refine(c *graph, side []int8, size int) {
	m := &mover{graph: c, side: side, want: size, gain: make([]int64, c.vertices()),
		locked: make([]bool, c.vertices()), tolerance: tolerance(c)}
	m.slack = m.tolerance + 1
	m.heaps = [2]*heap{newHeap(m.gain), newHeap(m.gain)}
	for range passes {
		if !m.pass() {
			return
		}
	}
}

// mover is one refinement.
type mover struct {
	*graph
	side      []int8
	want      int     // ranks on side 0
	gain      []int64 // saving of a move of each vertex
	locked    []bool  // those that were moved in this pass
	heaps     [2]*heap
	tolerance int
	slack     int
}

// pass moves each vertex at most once and goes back to the best division on the
// way. It says whether that is better than before.
func (m *mover) pass() bool {
	imbalance := imbalance(m.graph, m.side, m.want)
	m.begin(abs(imbalance) > m.tolerance || m.vertices() <= 4*few)
	now := state{max(0, abs(imbalance)-m.tolerance), 0}
	best, at := now, 0
	var moves []int32
	limit := max(patience, m.vertices()/16)
	for len(moves)-at < limit {
		v, ok := m.next(imbalance)
		if !ok {
			break
		}
		now.cost -= m.gain[v]
		if m.side[v] == 0 {
			imbalance -= int(m.size[v])
		} else {
			imbalance += int(m.size[v])
		}
		m.move(v)
		moves = append(moves, v)
		now.over = max(0, abs(imbalance)-m.tolerance)
		if now.before(best) {
			best, at = now, len(moves)
		}
	}
	for _, v := range moves {
		m.locked[v] = false
	}
	for _, v := range moves[at:] {
		m.side[v] = 1 - m.side[v]
	}
	return at > 0
}

// begin works all gains out. It offers the vertices that touch the other side for
// a move, or all.
func (m *mover) begin(all bool) {
	for _, h := range m.heaps {
		h.clear()
	}
	for v := range int32(m.vertices()) {
		gain, touches := m.pull[v], all || m.pull[v] != 0
		if m.side[v] == 0 {
			gain = -gain
		}
		peers, weights := m.peersOf(v)
		for i, u := range peers {
			if m.side[u] == m.side[v] {
				gain -= weights[i]
			} else {
				gain += weights[i]
				touches = true
			}
		}
		m.gain[v] = gain
		if touches {
			m.heaps[m.side[v]].push(v)
		}
	}
}

// next returns the vertex to move: that of the most gain, of the sides that can spare
// one.
func (m *mover) next(imbalance int) (best int32, found bool) {
	for s, h := range m.heaps {
		spare := imbalance
		if s == 1 {
			spare = -imbalance
		}
		if h.empty() || spare <= 0 && abs(imbalance) > m.tolerance {
			continue
		}
		v := h.top()
		after := abs(spare - int(m.size[v]))
		if after > m.slack && after >= abs(spare) {
			continue
		}
		if !found || m.gain[v] > m.gain[best] {
			best, found = v, true
		}
	}
	return best, found
}

// move puts v on the other side.
func (m *mover) move(v int32) {
	s := m.side[v]
	m.heaps[s].remove(v)
	m.side[v], m.locked[v] = 1-s, true
	peers, weights := m.peersOf(v)
	for i, u := range peers {
		if m.side[u] == s {
			m.gain[u] += 2 * weights[i]
		} else {
			m.gain[u] -= 2 * weights[i]
		}
		if !m.locked[u] {
			m.heaps[m.side[u]].push(u)
		}
	}
	m.gain[v] = -m.gain[v]
}

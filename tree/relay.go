package tree

// Position is a position of a tree in which hosts are leaves only: a host, or a relay
// that opens the links to nodes below it.
type Position struct {
	Host  int // number of the host; of a relay, its own, from 0 in the same order
	Below int // number of the positions that follow and are below this one; 0 for a host
}

// Relayed lays n hosts out below as few relays as a tree of degree k and least
// depth needs, in pre-order: a relay first, then all that is below it. One host
// needs no relay. k below 2 counts as 2, for relays that have one child each
// would never end.
func Relayed(n, k int) []Position {
	k = max(k, 2)
	var positions []Position
	relays, next := 0, 0
	var lay func(n int)
	lay = func(n int) {
		if n == 1 {
			positions = append(positions, Position{Host: next})
			next++
			return
		}
		span := 1 // hosts below each child, when the tree is full
		for span*k < n {
			span *= k
		}
		at := len(positions)
		positions = append(positions, Position{Host: relays})
		relays++
		for parts := (n + span - 1) / span; parts > 0; parts-- {
			part := (n + parts - 1) / parts
			lay(part)
			n -= part
		}
		positions[at].Below = len(positions) - at - 1
	}
	if n > 0 {
		lay(n)
	}
	return positions
}

// RelayDepth returns the number of edges from the root of Relayed(n, k) to its
// deepest host.
func RelayDepth(n, k int) int {
	d := 0
	for span := 1; span < n; span *= max(k, 2) {
		d++
	}
	return d
}

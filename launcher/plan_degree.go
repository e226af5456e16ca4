package launcher

import "github.com/golaunch/golaunch/tree/pacing"

// autoDegree is DegreeAuto where agents start each other: as many as the window
// of handshakes has room for at first, so that no child waits for another.
// docs/results/scale.md has it against 2 to 128.
const autoDegree = pacing.WindowBegin

// The bounds of DegreeAuto for relays. Below the first a tree is needlessly
// deep; above the second a relay's time to start its children outgrows a further
// level.
const (
	minRelayDegree = 8
	maxRelayDegree = 64
)

// The constants of DegreeScELA.
const (
	scelaMaxDepth = 3
	scelaMaxConn  = 128
)

// degreeFor returns the degree of the tree over so many nodes with up to perNode ranks
// on each; relayed, if only relays start others.
//
// DegreeAuto is autoDegree. Relays all run on the launcher's machine, so there
// should be few: for them it is the cube root of nodes, rounded up, within 8 to
// 64.
//
// DegreeScELA is the smallest k of at least 2 with ⌈log_k(nodes)⌉ ≤ 3, cut so
// that ranks, children and parent together are no more than 128 connections.
func degreeFor(rule string, nodes, perNode int, relayed bool) int {
	switch {
	case rule == DegreeScELA:
		k := rootAtLeast(2, nodes, scelaMaxDepth)
		if perNode+k+1 > scelaMaxConn {
			k = max(scelaMaxConn-1-perNode, 2)
		}
		return k
	case relayed:
		return min(rootAtLeast(minRelayDegree, nodes, 3), maxRelayDegree)
	}
	return autoDegree
}

// rootAtLeast returns the smallest k of at least low whose power of exponent is n or
// more.
func rootAtLeast(low, n, exponent int) int {
	for k := low; ; k++ {
		power := 1
		for range exponent {
			power *= k
		}
		if power >= n {
			return k
		}
	}
}

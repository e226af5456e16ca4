package launcher

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/tree/grow"
)

// rules are how ranks fill hosts. Without slots and ranks per host, they are
// spread evenly; else each host is filled in turn.
type rules struct {
	ppn           int  // ranks per host; 0 where not given
	slotted       bool // some host was given slots; the others have one
	oversubscribe bool
}

// slots is how many ranks a host was given room for.
func slots(h job.Host) int { return max(h.Slots, 1) }

// room is how many ranks a host takes in its turn.
func (r rules) room(h job.Host) int {
	if r.ppn > 0 {
		return r.ppn
	}
	return slots(h)
}

// whole is the number of ranks of a job that leaves it open: all slots, or that
// many per host, or one per host.
func (r rules) whole(hosts []job.Host) int {
	n := 0
	for _, h := range hosts {
		n += r.room(h)
	}
	return n
}

// place returns how many of n ranks each host gets. Hosts without any are at
// the end.
func (r rules) place(n int, hosts []job.Host) ([]int, error) {
	counts := make([]int, len(hosts))
	if r.ppn == 0 && !r.slotted {
		spread(n, counts)
		return counts, nil
	}
	left := n
	for i, h := range hosts {
		counts[i] = min(left, r.room(h))
		left -= counts[i]
		if r.slotted && !r.oversubscribe && counts[i] > slots(h) {
			return nil, fmt.Errorf("not enough slots on host %s: %s by --ppn, %s; give it more slots (host:N), lower --ppn, or --oversubscribe",
				h.Name, plural(counts[i], "rank"), plural(slots(h), "slot"))
		}
	}
	switch {
	case left == 0:
	case r.oversubscribe:
		spread(left, counts)
	case r.ppn > 0:
		return nil, fmt.Errorf("not enough slots: %s, %d on %s with --ppn %d, %d missing; add hosts, raise --ppn, or --oversubscribe",
			plural(n, "rank"), n-left, named(hosts), r.ppn, left)
	default:
		return nil, fmt.Errorf("not enough slots: %s, %s on %s, %d missing; add hosts, give more slots (host:N), or --oversubscribe",
			plural(n, "rank"), plural(n-left, "slot"), named(hosts), left)
	}
	return counts, nil
}

// spread adds n ranks to counts as evenly as can be, more to the first.
func spread(n int, counts []int) {
	for i := range counts {
		counts[i] += n / len(counts)
		if i < n%len(counts) {
			counts[i]++
		}
	}
}

// named counts the hosts and tells where the first was named: the user may not
// know of a resource manager's variable or of a file in the environment.
func named(hosts []job.Host) string {
	source := hosts[0].Pos
	if i := strings.LastIndexByte(source, ':'); i >= 0 {
		if _, err := strconv.Atoi(source[i+1:]); err == nil {
			source = source[:i]
		}
	}
	return fmt.Sprintf("%s of %s", plural(len(hosts), "host"), source)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// autoDegree is DegreeAuto where agents start each other: as many as the window
// of handshakes has room for at first, so that no child waits for another.
// docs/results/scale.md has it against 2 to 128.
const autoDegree = grow.WindowBegin

// The bounds of DegreeAuto for relays. Below the first a tree is needlessly
// deep; above the second a relay's time to start its children outgrows a further
// level.
const (
	minRelayDegree = 8
	maxRelayDegree = 64
)

// The constants of DegreeScELA (design section 4.2).
const (
	scelaMaxDepth = 3
	scelaMaxConn  = 128
)

// degreeFor is the degree of the tree over so many nodes with up to perNode
// ranks on each; relayed, if only relays start others.
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

// rootAtLeast is the smallest k of at least low whose power of exponent is n or
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

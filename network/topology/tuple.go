package topology

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Tuple is the shape of a parallel ports generalized fat tree,
// PGFT(h; m1..mh; w1..wh; p1..ph) [Zahavi 3]. Element l-1 of each slice is of
// level l; hosts are level 0.
type Tuple struct {
	M []int // different children of a node of level l
	W []int // different parents, of level l, of a node of level l-1
	P []int // parallel cables between such a pair
}

// XGFT returns the tuple of an extended generalized fat tree XGFT(h; m1..mh; w1..wh),
// which has one cable between a child and a parent.
func XGFT(m, w []int) Tuple {
	p := make([]int, len(m))
	for i := range p {
		p[i] = 1
	}
	return Tuple{M: m, W: w, P: p}
}

// Clos returns the tuple of a Clos network of switches with radix ports, of which
// those at the bottom have hosts hosts each and the rest of their ports upward,
// the inner ones half of theirs, and those at the top all ports downward
// [Sack 3.1]. Mu is the least ratio of ports upward to hosts that is asked for;
// hosts 0 is as many as mu allows. Levels counts the switches' levels, from 2.
func Clos(radix, hosts int, mu float64, levels int) (Tuple, error) {
	switch {
	case radix < 2 || radix > MaxPort:
		return Tuple{}, fmt.Errorf("switches of R=%d: expected 2..%d ports of a switch", radix, MaxPort)
	case !(mu > 0 && mu <= 1):
		return Tuple{}, fmt.Errorf("mu=%v: expected more than 0 and at most 1", mu)
	case levels < 2 || levels > maxLevels:
		return Tuple{}, fmt.Errorf("levels=%d: expected 2..%d", levels, maxLevels)
	case levels > 2 && radix%2 != 0:
		return Tuple{}, fmt.Errorf("switches of R=%d: expected an even number: inner switches have half of their ports upward", radix)
	}
	if hosts == 0 {
		hosts = int(float64(radix)/(1+mu) + 1e-9)
	}
	up := radix - hosts
	if hosts < 1 || up < 1 {
		return Tuple{}, fmt.Errorf("bottom switches of T=%d: expected 1..%d hosts of a switch, of R=%d ports", hosts, radix-1, radix)
	}
	if float64(up)/float64(hosts) < mu-1e-9 {
		return Tuple{}, fmt.Errorf("bottom switches of T=%d: leaves %d ports upward, %.3g for each host, expected at least mu=%v", hosts, up, float64(up)/float64(hosts), mu)
	}
	m, w := []int{hosts}, []int{1, up}
	for range levels - 2 {
		m, w = append(m, radix/2), append(w, radix/2)
	}
	return XGFT(append(m, radix), w), nil
}

const maxLevels = 16

// Levels returns the number of levels of switches, h.
func (t Tuple) Levels() int { return len(t.M) }

// Check fails where the lengths differ, a number is not positive, or the tree
// were larger than a Graph may be.
func (t Tuple) Check() error {
	h := len(t.M)
	if h < 1 || h > maxLevels {
		return fmt.Errorf("%d levels: expected 1..%d", h, maxLevels)
	}
	if len(t.W) != h || len(t.P) != h {
		return fmt.Errorf("%d, %d and %d numbers: expected as many w and p as m", h, len(t.W), len(t.P))
	}
	for k, list := range [][]int{t.M, t.W, t.P} {
		for i, n := range list {
			if n < 1 || n > MaxPort {
				return fmt.Errorf("%c%d=%d: expected 1..%d", "mwp"[k], i+1, n, MaxPort)
			}
		}
	}
	nodes, cables := int64(0), int64(0)
	for l := range h + 1 {
		count := int64(1)
		for i := range h {
			if i < l {
				count *= int64(t.W[i])
			} else {
				count *= int64(t.M[i])
			}
			if count > MaxNodes {
				return fmt.Errorf("more than %d nodes at level %d: too large", MaxNodes, l)
			}
		}
		if nodes += count; nodes > MaxNodes {
			return fmt.Errorf("more than %d hosts and switches: too large", MaxNodes)
		}
		if l < h {
			cables += count * int64(t.W[l]) * int64(t.P[l])
			if int64(t.M[l])*int64(t.P[l]) > MaxPort || int64(t.W[l])*int64(t.P[l]) > MaxPort {
				return fmt.Errorf("more than %d ports at level %d: too large", MaxPort, l+1)
			}
		}
		if cables > MaxCables {
			return fmt.Errorf("more than %d cables: too large", MaxCables)
		}
	}
	return nil
}

// Count returns the number of nodes of a level; of level 0, hosts.
func (t Tuple) Count(level int) int {
	n := 1
	for i := range t.M {
		n *= t.radix(level, i)
	}
	return n
}

// radix returns the number of values of digit i+1 of a node of that level.
func (t Tuple) radix(level, i int) int {
	if i < level {
		return t.W[i]
	}
	return t.M[i]
}

// Hosts returns the number of hosts of the whole tree.
func (t Tuple) Hosts() int { return t.Count(0) }

// Below returns the number of hosts below a node of that level: m1*..*ml.
func (t Tuple) Below(level int) int { return product(t.M[:level]) }

// Roots returns the number of switches of that level above one host: w1*..*wl, the
// W_l of D-Mod-K [Zahavi 4].
func (t Tuple) Roots(level int) int { return product(t.W[:level]) }

// Up returns the number of ports upward of a node of that level; 0 at the top.
func (t Tuple) Up(level int) int {
	if level == len(t.W) {
		return 0
	}
	return t.W[level] * t.P[level]
}

// Down returns the number of ports downward of a switch of that level, from 1.
func (t Tuple) Down(level int) int { return t.M[level-1] * t.P[level-1] }

// RLFT reports an error if the tree is no real-life fat tree [Zahavi 3]: one cable to
// each host, as many ports upward as downward below the top, the same ports at each
// switch.
func (t Tuple) RLFT() error {
	if t.W[0] != 1 || t.P[0] != 1 {
		return errors.New("hosts have more than one cable")
	}
	h := t.Levels()
	for l := 1; l < h; l++ {
		if t.Down(l) != t.Up(l) {
			return fmt.Errorf("switches of level %d have %d ports down and %d up", l, t.Down(l), t.Up(l))
		}
		if 2*t.Down(l) != t.Down(h) {
			return fmt.Errorf("switches of level %d have %d ports, those at the top %d", l, 2*t.Down(l), t.Down(h))
		}
	}
	return nil
}

// String returns the tuple as network/topology/spec reads it: "18,18/1,9/1,2".
func (t Tuple) String() string { return numbers(t.M) + "/" + numbers(t.W) + "/" + numbers(t.P) }

func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func product(list []int) int {
	p := 1
	for _, n := range list {
		p *= n
	}
	return p
}

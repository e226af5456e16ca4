package placement

import (
	"fmt"
	"strconv"
	"strings"
)

// rules are all there are, by name.
var rules = map[string]Rule{
	Even:  even{},
	Slots: slots{},
	PPN:   ppn{},
	Free:  free{},
}

// Named returns the rule of a name, a constant beside each rule.
func Named(name string) (Rule, error) {
	if rule := rules[name]; rule != nil {
		return rule, nil
	}
	return nil, fmt.Errorf("placement: %q is no rule", name)
}

// Default is the name of the rule by which the ranks of a job are placed where
// the user names none.
func Default(in *Input) string {
	if in.PPN > 0 {
		return PPN
	}
	for i := range in.Hosts {
		if in.Hosts[i].Slots > 0 {
			return Slots
		}
	}
	return Even
}

// fill gives each host in turn as many of n ranks as it has room for. left have
// none.
func fill(n int, room []int) (counts []int, left int) {
	counts = make([]int, len(room))
	for i := range room {
		counts[i] = min(n, room[i])
		n -= counts[i]
	}
	return counts, n
}

// spread adds n ranks to counts, each host the same, the first ones what is
// uneven.
func spread(n int, counts []int) {
	for i := range counts {
		counts[i] += n / len(counts)
		if i < n%len(counts) {
			counts[i]++
		}
	}
}

// total is the sum of counts.
func total(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// inOrder is the runs of hosts in their order with so many ranks each.
func inOrder(counts []int) []Run {
	runs := make([]Run, 0, len(counts))
	for i, n := range counts {
		if n > 0 {
			runs = append(runs, Run{Host: i, Count: n})
		}
	}
	return runs
}

// named counts the hosts and tells where the first was named: the user may not
// know of a resource manager's variable or of a file in the environment.
func named(hosts []Host) string {
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

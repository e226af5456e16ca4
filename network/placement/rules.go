package placement

import (
	"fmt"
	"strconv"
	"strings"
)

// Names of the rules that a user may ask for. Those that end with a colon want a
// value.
const (
	Slot     = "slot"
	Node     = "node"
	Switch   = "switch"
	Topology = "topology"
	Comm     = "comm:"
	File     = "file:"
	Seq      = "seq"
)

// row is a rule: everything that holds for all of it.
type row struct {
	name  string
	value string // meaning of a value behind a name and a colon
	help  string // for users, in a line
	rule  func(*Wish) Rule
	// dealt says that the rule spreads ranks over all hosts, network that it can't do
	// without one, listed that the user says where each rank is, mapped that a graph
	// may say it.
	dealt, network, listed, mapped bool
}

// rules is the table of all that there are, in the order of help. A new one is its
// file, and its name and a line here.
var rules = [...]row{
	{name: Slot, help: "fill the slots of one host after the other, the default; without slots, evenly", rule: func(*Wish) Rule { return slotRule{} }},
	{name: Node, help: "a rank on each host in turn", rule: func(*Wish) Rule { return nodeRule{} }, dealt: true},
	{name: Switch, help: "a rank below each leaf switch in turn", rule: func(*Wish) Rule { return leafRule{} }, dealt: true, network: true},
	{name: Topology, help: "hosts below few switches, in the order of the network", rule: func(*Wish) Rule { return slotRule{} }, network: true, mapped: true},
	{name: Comm, value: "GRAPH", help: "by what ranks send each other: a file, or a word such as cart:8x8x8", rule: func(*Wish) Rule { return slotRule{} }, mapped: true},
	{name: File, value: "FILE", help: "as the lines of a rank file say", rule: func(w *Wish) Rule { return w.seats }, listed: true},
	{name: Seq, help: "rank i on the i-th entry of the list of hosts", rule: func(w *Wish) Rule { return w.seats }, listed: true},
}

// Names returns every rule, in the order of help.
func Names() []string {
	var all []string
	for i := range rules {
		all = append(all, rules[i].name)
	}
	return all
}

// Forms returns every rule as users write it, such as comm:GRAPH.
func Forms() []string {
	var all []string
	for i := range rules {
		all = append(all, rules[i].name+rules[i].value)
	}
	return all
}

// Help describes a rule of Names to users, in a line.
func Help(name string) string {
	for i := range rules {
		if rules[i].name == name {
			return rules[i].help
		}
	}
	return ""
}

// Cut cuts a user's word into the name of a rule and its value. The error names the
// rules that there are.
func Cut(word string) (name, value string, err error) {
	for i := range rules {
		r := &rules[i]
		if rest, ok := strings.CutPrefix(word, r.name); ok && r.value != "" {
			if rest == "" {
				return "", "", fmt.Errorf("%q lacks its %s", word, r.value)
			}
			return r.name, rest, nil
		}
		switch word {
		case r.name:
			return word, "", nil
		case strings.TrimSuffix(r.name, ":"):
			return "", "", fmt.Errorf("%q lacks its %s, as in %s%s", word, r.value, r.name, r.value)
		}
	}
	words := Forms()
	last := len(words) - 1
	return "", "", fmt.Errorf("%q is no rule; %s and %s are", word, strings.Join(words[:last], ", "), words[last])
}

// ForSpawn returns the rule for hosts that hold ranks already: free slots, in order. It
// fails with a *ShortError where these do not suffice.
func ForSpawn() Rule { return freeRule{} }

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

// spread adds n ranks to counts, each host the same, the first ones one more.
func spread(n int, counts []int) {
	for i := range counts {
		counts[i] += n / len(counts)
		if i < n%len(counts) {
			counts[i]++
		}
	}
}

// total returns the sum of counts.
func total(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// runsOf returns the runs of hosts in their order with so many ranks each.
func runsOf(counts []int) []Run {
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

package cache

import "fmt"

// Policy names a way to spread a world's state over the nodes. The first four are those
// of ScELA (sections 3.2.1 to 3.2.4), the last is the distributed cache that its
// section 3.4 leaves for later.
type Policy string

// Names of policies; doc.go compares them.
const (
	// HCS sends each put up at once and answers gets from the nearest node on
	// the way to the root that knows.
	HCS Policy = "hcs"
	// HCMA is HCS with one aggregate of a subtree's puts at the fence.
	HCMA Policy = "hcma"
	// HCMAB aggregates the puts of a subtree at the fence and broadcasts the
	// merged aggregate from the root: no get ever leaves its node.
	HCMAB Policy = "hcmab"
	// HCMABLRU is HCMAB, but a node keeps of the broadcasts only the keys whose
	// home it is and as many others as fit into its budget.
	HCMABLRU Policy = "hcmab-lru"
	// Distributed sends each put to the key's home, which is asked for it.
	Distributed Policy = "distributed"
)

// policy is one of them: everything that holds for all of it.
type policy struct {
	name  Policy
	help  string // for users, in a line
	homes kinds  // of the messages to and from the homes of keys; none where it has none
	make  func(Config) Board
}

// policies is the table of all that there are, in the order in which they came to be. A
// new one is its file, and its name and a line here.
var policies = [...]policy{
	{name: HCS, help: "each put travels up at once", make: func(c Config) Board { return newHier(c, true) }},
	{name: HCMA, help: "a subtree's puts travel up together, at the fence", make: func(c Config) Board { return newHier(c, false) }},
	{name: HCMAB, help: "as hcma, and the fence brings all of them to every node", make: func(c Config) Board { return newHCMAB(c, false) }},
	{name: HCMABLRU, help: "as hcmab, but a node keeps its share of the keys, and --cache-bytes of others", homes: getAndAnswers, make: func(c Config) Board { return newHCMAB(c, true) }},
	{name: Distributed, help: "each put goes to the node whose share it is in", homes: toHomes, make: func(c Config) Board { return newDistributed(c) }},
}

// Policies returns every policy, in the order in which they came to be.
func Policies() []Policy {
	var all []Policy
	for _, p := range policies {
		all = append(all, p.name)
	}
	return all
}

// row returns the policy's in the table; nil if there is none of that name.
func (p Policy) row() *policy {
	for i := range policies {
		if policies[i].name == p {
			return &policies[i]
		}
	}
	return nil
}

// Known reports whether there is such a policy.
func (p Policy) Known() bool { return p.row() != nil }

// Help describes a known policy to users, in a line.
func (p Policy) Help() string { return p.row().help }

// UsesHomes reports whether boards of the policy speak to the homes of keys,
// which needs Config.Nodes and a caller that carries messages to any node.
func (p Policy) UsesHomes() bool { return p.Known() && p.row().homes != 0 }

// CheckHome checks the form of a message between a node and the home of a key, in a
// world of so many ranks. Only these two know which keys are at home there.
func (p Policy) CheckHome(msg []byte, size int) error {
	row := p.row()
	if row == nil || row.homes == 0 {
		return fmt.Errorf("with policy %s there are no messages to homes", p)
	}
	h, body, err := parseHeader(msg, size)
	if err != nil {
		return err
	}
	if !row.homes.has(h.kind) {
		return fmt.Errorf("offset 0: %v where %v is due", h.kind, row.homes)
	}
	return checkBody(msg, body, h.kind, DefaultMaxKey, DefaultMaxValue)
}

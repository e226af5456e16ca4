package profile

// OnNodes is the node of each rank, an index into Nodes.
func (v *World) OnNodes() []int32 {
	nodes := make([]int32, 0, v.Size)
	for _, o := range v.NodeOf {
		for range o.Count {
			nodes = append(nodes, int32(o.Node))
		}
	}
	return nodes
}

// Fold adds up what ranks of the same group sent those of each group: group has the
// number of each rank's, such as its node or the switch of its node. Sources and
// destinations of what it returns are groups, ascending; what stays in a group is
// there as sent to itself.
func Fold(sent []Sent, group []int32) []Sent {
	folded := make([]Sent, len(sent))
	for i, s := range sent {
		folded[i] = Sent{group[s.Source], group[s.Destination], s.Counts}
	}
	return Joined(folded)
}

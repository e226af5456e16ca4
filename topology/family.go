package topology

// Family is a regular network: its kind and parameters, and the place of each
// node of one Graph in it. The concrete types are *FatTree, *Torus (and mesh) and
// *Dragonfly (and Cray XC); a switch over them gets at the places. The graph may lack
// hosts, switches and cables that the regular network has: what is there is
// cabled as the family says.
type Family interface {
	// Kind is "fattree", "torus", "mesh", "dragonfly" or "cray".
	Kind() string
	// String is the compact form that topology/spec reads, such as
	// "torus:8x8x8".
	String() string
	// On is the same family for a graph with the same nodes and some of the
	// cables (Graph.Without). The error names a cable that the family has not.
	On(g *Graph) (Family, error)
}

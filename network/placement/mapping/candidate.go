package mapping

// candidate is a way to map ranks. A new one is a file and a line in the table.
type candidate interface {
	// maps are the maps that it has for p, with a name each; none where it does
	// not apply. They are the caller's.
	maps(p *problem) ([]named, error)
}

// named is a map and how it came about.
type named struct {
	name string
	Map
}

// candidates are all there are. The default order is not among them.
var candidates = []candidate{
	dimensionOrders{},
	blocks{},
	curves{},
	greedy{},
	hierarchy{},
	hostsFirst{},
	bisection{},
}

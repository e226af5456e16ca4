package topology

// Recognize finds which regular network g is, or is left of, from its cables
// alone: names and port numbers say nothing about it (ports only decide which of
// several equal places a node gets). It returns the family, or nil and why g is
// none of each kind: then g is irregular.
//
// Where g is the whole network that a generator makes, the family gives each node
// the generator's index. Nodes without cables are left aside.
func Recognize(g *Graph) (Family, error) {
	tree, noTree := recognizeFatTree(g)
	if noTree == nil {
		return tree, nil
	}
	f, err := newFabric(g)
	if err != nil {
		return nil, &IrregularError{FatTree: noTree, Torus: err, Dragonfly: err}
	}
	torus, noTorus := recognizeTorus(g, f)
	if noTorus == nil {
		return torus, nil
	}
	common, most := f.commons()
	fly, noFly := recognizeDragonfly(g, f, common, most)
	if noFly == nil {
		return fly, nil
	}
	if cray, err := recognizeCray(g, f, common, most); err == nil {
		return cray, nil
	}
	return nil, &IrregularError{FatTree: noTree, Torus: noTorus, Dragonfly: noFly}
}

// IrregularError has the reasons for which a graph is of no known family.
type IrregularError struct {
	FatTree, Torus, Dragonfly error
}

// Error tells all reasons.
func (e *IrregularError) Error() string {
	return "irregular: no fat tree (" + e.FatTree.Error() + "), no torus or mesh (" + e.Torus.Error() +
		"), no dragonfly (" + e.Dragonfly.Error() + ")"
}

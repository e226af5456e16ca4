// Package cluster finds the levels of a network from nothing but the number of
// switches between its hosts: neighbor joining, which is agglomerative
// complete-linkage clustering with joins of more than two [Subramoni 2.8]. Begin
// with Join.
//
// The hosts of a leaf switch are one switch from each other and become one
// cluster; what hangs below one switch of the next level are its clusters, and so
// on: the tree is as deep as the network has levels of switches. A torus or a
// network that is irregular gives a tree as well, which puts near hosts together.
package cluster

// Loop carries out do(0), ..., do(n-1), in any order, several at once if it
// likes, and returns when all are done. Packages of the network start no
// goroutines of their own: they are given one of these.
type Loop = func(n int, do func(i int))

// Sequential is a Loop that has one thing done after the other.
func Sequential(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// Package cluster finds the levels of a network from nothing but the number of
// switches between its hosts: neighbor joining, which is agglomerative
// complete-linkage clustering with joins of more than two [Subramoni 2.8]. Begin
// with Join.
//
// The hosts of a leaf switch are one switch from each other and become one cluster; the
// clusters below one switch of the next level become one cluster, and so on: the tree
// is as deep as the network has levels of switches. A torus or a network that is
// irregular gives a tree as well, which puts near hosts together.
package cluster

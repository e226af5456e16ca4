package ibnet

import (
	"bufio"
	"fmt"
	"io"

	"github.com/golaunch/golaunch/network/topology"
)

// Write writes a graph as a network file of ibsim, which Discover reads as well.
// Nodes have the GUIDs of their Info, or else ones made of their numbers; each
// description is Info's, or else the node's name. It fails for a port number
// beyond 254, the most that InfiniBand has.
func Write(w io.Writer, g *topology.Graph) error {
	out := bufio.NewWriter(w)
	id := func(n topology.Node) string { return ID(g, n) }
	desc := func(n topology.Node) string {
		if d := g.Info(n).Description; d != "" {
			return d
		}
		return g.Name(n)
	}
	for n := range topology.Node(g.Nodes()) {
		highest := int32(1)
		for _, p := range g.Ports(n) {
			highest = max(highest, p.Number)
		}
		if highest > 254 {
			return fmt.Errorf("port %d of %s: expected at most 254", highest, g.Name(n))
		}
		kind, word := "switchguid", "Switch"
		if g.IsHost(n) {
			kind, word = "caguid", "Ca"
		}
		fmt.Fprintf(out, "%s=0x%016x\n%s\t%d %q\t\t# %q\n", kind, guid(g, n), word, highest, id(n), desc(n))
		for _, p := range g.Ports(n) {
			own := ""
			if g.IsHost(n) {
				own = "lid 0 lmc 0 "
			}
			fmt.Fprintf(out, "[%d]\t%q[%d]\t\t# %s%q lid 0\n", p.Number, id(p.Peer), p.PeerNumber, own, desc(p.Peer))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// ID returns the name that Write gives a node in a file, such as H-0002c90000000010.
func ID(g *topology.Graph, n topology.Node) string {
	if g.IsHost(n) {
		return fmt.Sprintf("H-%016x", guid(g, n))
	}
	return fmt.Sprintf("S-%016x", guid(g, n))
}

func guid(g *topology.Graph, n topology.Node) uint64 {
	if guid := g.Info(n).GUID; guid != 0 {
		return guid
	}
	return 0x0002c90000000000 + 16*uint64(n+1)
}

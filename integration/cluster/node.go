package cluster

import (
	"fmt"
	"net/netip"
	"path/filepath"
)

// The names of the two places that are not nodes of the job.
const (
	Head    = "head"    // runs golaunch; the only holder of the key
	Outside = "outside" // reaches head only, and the nodes through it
)

// Node is one machine of the cluster.
type Node struct {
	// Name is the host name: n001, n002, …, Head or Outside.
	Name string
	// Addr is the address on the cluster's network; of Outside, the address
	// on the network it shares with head.
	Addr netip.Addr
	// ExtAddr is head's address on the network it shares with Outside.
	ExtAddr netip.Addr
	// SecondAddr is a node's address on the second network (Config.SecondNetwork).
	SecondAddr netip.Addr
	// Switch is the leaf switch the node is behind, from 1; 0 is the core.
	Switch int
	// Init is process 1 of the node, seen from the host; zero for containers.
	Init procID
}

// NodeName is the name of node i, from 1.
func NodeName(i int) string { return fmt.Sprintf("n%03d", i) }

// The sizes of the networks: of the nodes, and of head and outside; of all with IPv6.
const (
	netBits  = 16
	extBits  = 24
	ipv6Bits = 64
)

// netnsSubnets are the second bytes of the two 10.x networks of namespaces.
// Nobody else sees these, so they may repeat what the host uses.
var netnsSubnets = [2]byte{88, 89}

// secondSubnet is that of the nodes' second network.
const secondSubnet = 90

// planNodes lists all machines of a cluster: the nodes in order, head, outside.
func planNodes(c Config, subnets [2]byte) []Node {
	in := func(subnet, hi, lo byte) netip.Addr {
		if c.IPv6Only { // its last bytes are the IPv4 address's, for hwAddr, too
			return netip.AddrFrom16([16]byte{0: 0xfd, 7: subnet, 12: 10, 13: subnet, 14: hi, 15: lo})
		}
		return netip.AddrFrom4([4]byte{10, subnet, hi, lo})
	}
	addr := func(network int, hi, lo byte) netip.Addr { return in(subnets[network], hi, lo) }
	nodes := make([]Node, 0, c.Nodes+2)
	for i := range c.Nodes {
		n := Node{Name: NodeName(i + 1)}
		n.Addr = addr(0, byte(1+i/200), byte(1+i%200))
		if c.SecondNetwork {
			n.SecondAddr = in(secondSubnet, byte(1+i/200), byte(1+i%200))
		}
		if c.Switches.Count > 0 {
			n.Switch = 1 + i/c.Switches.Hosts
		}
		nodes = append(nodes, n)
	}
	return append(nodes,
		Node{Name: Head, Addr: addr(0, 0, 2), ExtAddr: addr(1, 0, 2)},
		Node{Name: Outside, Addr: addr(1, 0, 3)}) // .1 is the engine's, where there is one
}

// hwAddr is the hardware address that belongs to an address: fixed, so that
// the bridges can be told where everybody is.
func hwAddr(a netip.Addr) string {
	b := a.As16()
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", b[12], b[13], b[14], b[15])
}

// files names the places of one node's own files, in DIR/nodes/NAME, which no
// other node can see.
type files string

func nodeFiles(dir, name string) files { return files(filepath.Join(dir, "nodes", name)) }

func (f files) in(name string) string { return filepath.Join(string(f), name) }
func (f files) home() string          { return f.in("home") }
func (f files) key() string           { return f.in("home/.ssh/id_ed25519") }
func (f files) sshdConfig() string    { return f.in("sshd_config") }
func (f files) sshdLog() string       { return f.in("sshd.log") }
func (f files) sshdPID() string       { return f.in("sshd.pid") }

// session returns the path of the program that sshd executes for each connection: a
// link to the real program, or a script that makes it late (see setSlow).
func (f files) session() string { return f.in("sshd") }

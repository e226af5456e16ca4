// Package ibnet reads InfiniBand tools' descriptions of a fabric: ibnetdiscover's
// output and ibsim's network files, which have the same form (Discover), OpenSM's
// opensm-subnet.lst (SubnetList), and linear forwarding tables as OpenSM
// (opensm-lfts.dump, opensm.fdbs), dump_lfts and ibroute print them (ParseTables).
//
// All check that a file agrees with itself, and is complete: each cable is described at
// both of its ends.
package ibnet

import (
	"github.com/golaunch/golaunch/network/topology"
)

// Fabric is an InfiniBand fabric. Its graph has a host for each adapter (Info has
// the node's description, GUID and LID) and each router.
type Fabric struct {
	Graph *topology.Graph
	// Ports has the address of each port of a host that has a cable and of each
	// switch (port 0), those with a LID by LID, then the rest.
	Ports []Port
	// Aside has the descriptions of adapters that are no hosts: the aggregation nodes
	// inside switches.
	Aside []string
}

// Port is the address of a port: a message to one of the 1<<LMC LIDs from LID on
// ends there. GUID is 0 where the file has none.
type Port struct {
	End  topology.End
	GUID uint64
	LID  uint16
	LMC  uint8
}

package scale

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// shape is an agent's way to cut the hosts that it is to start into parts, on whose
// heads it starts agents.
type shape struct {
	name string
	cut  func(hosts []job.HostIndex) [][]job.HostIndex
	one  bool // at most one handshake in flight

	degree int // as it is told to the agents
}

// ranges is golaunch's shape: k contiguous parts.
func ranges(k int) shape {
	return shape{name: fmt.Sprintf("ranges, k = %d", k), degree: k, cut: func(hosts []job.HostIndex) [][]job.HostIndex { return tree.Split(hosts, k) }}
}

// flat has the root start all others.
func flat() shape {
	return shape{name: "flat", cut: func(hosts []job.HostIndex) [][]job.HostIndex { return tree.Split(hosts, len(hosts)) }}
}

// binomial is figure 2.2 of [Sridhar]: in each step every running agent starts one
// more, and gives it half of the rest.
func binomial() shape {
	return shape{name: "binomial", one: true, cut: func(hosts []job.HostIndex) (parts [][]job.HostIndex) {
		for len(hosts) > 0 {
			half := len(hosts) / 2
			parts = append(parts, hosts[half:])
			hosts = hosts[:half]
		}
		return parts
	}}
}

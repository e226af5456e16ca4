package cluster

import (
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
)

const (
	// Unreachable stands for the distance of hosts between which there is no route.
	Unreachable uint8 = 255
	// Farthest is the greatest distance between hosts, in hops.
	Farthest = 254
	// MaxHosts bounds the hosts that are clustered: distances take a byte for each
	// pair.
	MaxHosts = 1 << 15
)

// Distances has the hops, switches on the route, of each pair of hosts.
type Distances struct {
	hosts int
	hops  []uint8 // hosts*hosts
}

// Measure asks for the distances of all pairs: bulk(i, hops), once for each host
// i, puts the hops between each host and i into hops. Of two routes of a pair that
// differ in length the longer one counts. Loop carries out the queries.
func Measure(hosts int, bulk func(i int, hops []uint8), loop topology.Loop) (*Distances, error) {
	if hosts > MaxHosts {
		return nil, fmt.Errorf("%d hosts: the distances of at most %d are supported", hosts, MaxHosts)
	}
	d := &Distances{hosts: hosts, hops: make([]uint8, hosts*hosts)}
	loop(hosts, func(i int) { bulk(i, d.row(i)) })
	const tile = 64
	tiles := (hosts + tile - 1) / tile
	loop(tiles, func(t int) {
		for u := t; u < tiles; u++ {
			for i := t * tile; i < min((t+1)*tile, hosts); i++ {
				for j := max(u*tile, i+1); j < min((u+1)*tile, hosts); j++ {
					a, b := &d.hops[i*hosts+j], &d.hops[j*hosts+i]
					*a = max(*a, *b)
					*b = *a
				}
			}
		}
	})
	return d, nil
}

// Hosts returns the number of hosts.
func (d *Distances) Hosts() int { return d.hosts }

// Hops returns the distance of two hosts; Unreachable if there is no route.
func (d *Distances) Hops(i, j int) uint8 { return d.hops[i*d.hosts+j] }

// row returns the distances of host i.
func (d *Distances) row(i int) []uint8 { return d.hops[i*d.hosts : (i+1)*d.hosts] }

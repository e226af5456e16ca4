// Package random has numbers that look random and are the same on every machine.
package random

import "github.com/golaunch/golaunch/network/topology"

// Source is a sequence of numbers that its first value, the seed, decides.
type Source uint64

// Uint64 returns the next number.
func (s *Source) Uint64() uint64 {
	*s += topology.MixStep
	return topology.Mix(uint64(*s))
}

// Int returns the next number of 0..n-1, where n is positive.
func (s *Source) Int(n int) int { return int(s.Uint64() % uint64(n)) }

// Order is 0..n-1 in an order of its own.
func (s *Source) Order(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	topology.Shuffle(list, s.Uint64())
	return list
}

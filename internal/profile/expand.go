package profile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/collective"
)

// Choice names the algorithm (collective.Find) by which a collective operation of so
// many ranks is expanded. Bytes is the size that Expand derives from a call: one rank's
// part in a gather, scatter, allgather or reduce-scatter, the whole vector in the
// others.
type Choice func(call string, ranks int, bytes int64) string

// Limits between algorithms, in bytes, as MPICH has them.
const (
	shortVector  = 2 << 10   // of a reduction
	shortBcast   = 12 << 10  // of a broadcast
	shortGather  = 80 << 10  // of an allgather, all parts together
	longVector   = 512 << 10 // of a broadcast, an allgather or a reduce-scatter
	fewForBcast  = 8         // ranks of a broadcast
	mostMessages = 1 << 25   // of one operation
	mostInAll    = 1 << 28   // of one expansion
)

// LikeMPICH returns the Choice of MPICH for a network without a shape.
func LikeMPICH(call string, ranks int, bytes int64) string {
	all := bytes * int64(ranks)
	switch call {
	case "MPI_Bcast":
		switch {
		case bytes < shortBcast || ranks < fewForBcast:
			return "broadcast/2-nomial"
		case bytes < longVector:
			return "broadcast/doubling"
		}
		return "broadcast/ring"
	case "MPI_Gather":
		return "gather/2-nomial"
	case "MPI_Scatter":
		return "scatter/2-nomial"
	case "MPI_Allgather", "MPI_Allgatherv":
		switch {
		case all < shortGather:
			return "allgather/bruck"
		case all < longVector:
			return "allgather/doubling"
		}
		return "allgather/ring"
	case "MPI_Reduce":
		if bytes <= shortVector {
			return "reduce/2-nomial"
		}
		return "reduce/halving"
	case "MPI_Allreduce":
		if bytes <= shortVector {
			return "allreduce/exchange"
		}
		return "allreduce/halving"
	case "MPI_Reduce_scatter", "MPI_Reduce_scatter_block":
		if all < longVector {
			return "reduce-scatter/halving"
		}
		return "reduce-scatter/pairwise"
	case "MPI_Scan", "MPI_Exscan":
		return "allreduce/exchange" // the same partners, and as much
	}
	return ""
}

// Expansion has collective operations as messages.
type Expansion struct {
	Sent []Sent // ascending by source and destination
	// Algorithms says, for each operation that was expanded, by which ones, such as
	// "MPI_Bcast: broadcast/2-nomial".
	Algorithms []string
	// Notes name the parts left out, whole sentences.
	Notes []string
}

// Expand turns the collective operations into messages by the algorithms of a
// choice, but for those that are among Sent already and those that move no bytes.
func (v *World) Expand(choose Choice) Expansion {
	x := expansion{room: mostInAll, pairs: map[[2]int32]Counts{}, used: map[string]bool{}, left: map[string]bool{}}
	for _, c := range v.Collectives {
		if c.InSent || c.Bytes == 0 || c.Calls == 0 {
			continue
		}
		members := v.Communicators[c.Communicator].Members()
		switch {
		case members == nil:
			x.left[fmt.Sprintf("%s on a communicator whose ranks are not all known is left out", c.Call)] = true
		case len(members) == 1:
		default:
			if err := x.add(&c, members, choose); err != nil {
				x.left[fmt.Sprintf("%s of %d ranks is left out: %v", c.Call, len(members), err)] = true
			}
		}
	}
	e := Expansion{Algorithms: sorted(x.used), Notes: sorted(x.left)}
	for pair, c := range x.pairs {
		e.Sent = append(e.Sent, Sent{pair[0], pair[1], c})
	}
	slices.SortFunc(e.Sent, func(a, b Sent) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination))
	})
	return e
}

type expansion struct {
	room       int // for messages still
	pairs      map[[2]int32]Counts
	used, left map[string]bool
}

// take says that so many ranks send a message in each of so many stages. The error
// is that of too many.
func (x *expansion) take(ranks, stages int) error {
	if stages > mostMessages/ranks || stages > x.room/ranks {
		return fmt.Errorf("%d stages are too many messages; up to %d are expanded of one operation, %d of all", stages, mostMessages, mostInAll)
	}
	x.room -= stages * ranks
	return nil
}

// alltoall has each rank send each other one its block.
func (x *expansion) alltoall(c *Collective, members []int32) error {
	n := int64(len(members))
	if err := x.take(len(members), len(members)-1); err != nil {
		return err
	}
	x.used[c.Call+": each to each"] = true
	for _, a := range members {
		for _, b := range members {
			if a != b {
				x.send(a, b, Counts{Messages: c.Calls, Bytes: c.Bytes / (n * n)})
			}
		}
	}
	return nil
}

func (x *expansion) send(from, to int32, c Counts) {
	pair := [2]int32{from, to}
	all := x.pairs[pair]
	all.Add(c)
	x.pairs[pair] = all
}

// add plays an algorithm once and counts its messages for each call.
func (x *expansion) add(c *Collective, members []int32, choose Choice) error {
	if c.Call == "MPI_Alltoall" {
		return x.alltoall(c, members)
	}
	n := int64(len(members))
	bytes := c.Bytes / c.Calls
	switch c.Call {
	case "MPI_Bcast":
	case "MPI_Reduce_scatter", "MPI_Reduce_scatter_block":
		bytes /= n * n
	default:
		bytes /= n
	}
	name := choose(c.Call, len(members), bytes)
	if name == "" {
		return fmt.Errorf("no algorithm is known for it")
	}
	a, err := collective.Find(name)
	if err != nil {
		return err
	}
	p, err := a.Program(collective.Job{Ranks: len(members), Bytes: bytes, Root: int32(max(c.Root, 0))})
	if err != nil {
		return err
	}
	s := p.Schedule()
	if err := x.take(len(members), s.Stages); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	x.used[c.Call+": "+name] = true
	var list []netsim.Message
	for stage := range s.Stages {
		list = s.Append(list[:0], stage)
		for _, m := range list {
			if m.From != m.To {
				x.send(members[m.From], members[m.To], Counts{Messages: c.Calls, Bytes: m.Size * c.Calls})
			}
		}
	}
	return nil
}

func sorted(set map[string]bool) []string {
	var list []string
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

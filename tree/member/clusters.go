package member

import "github.com/golaunch/golaunch/tree/record"

// NetworkDepth returns the levels of switches of the network between the job's hosts; 0
// where that is not known.
func (s *Session) NetworkDepth() int { return len(s.clusters) }

// SwitchClusters is in how many switch clusters the world's hosts are at a depth from
// 1; 0 at one that the network lacks.
func (s *Session) SwitchClusters(depth int) int {
	if depth < 1 || depth > len(s.clusters) {
		return 0
	}
	return s.clusters[depth-1]
}

// SwitchCluster asks the agent for the switch cluster of a rank of the world at a
// depth from 1.
func (s *Session) SwitchCluster(rank, depth int) *Request {
	switch {
	case len(s.clusters) == 0:
		return refused("no network is known, and so no switch cluster; golaunch --topology names it")
	case depth < 1 || depth > len(s.clusters):
		return refused("switch clusters at depth %d of a network of depth %d", depth, len(s.clusters))
	case rank < 0 || rank >= s.size:
		return refused("the switch cluster of rank %d of a world of %d", rank, s.size)
	}
	q := s.register(&record.Record{Kind: record.Cluster, Dst: rank})
	q.depth = depth
	return q
}

// Cluster returns the number that a SwitchCluster found.
func (r *Request) Cluster() int { return int(r.got) }

// takeCluster takes the agent's answer to one.
func (s *Session) takeCluster(q *Request, r *record.Record) error {
	numbers, err := record.ParseClusters(r.Body)
	if err == nil && (q.depth == 0 || len(numbers) != len(s.clusters)) {
		err = errUnexpected
	}
	if err == nil {
		q.got = int64(numbers[q.depth-1])
	}
	return err
}

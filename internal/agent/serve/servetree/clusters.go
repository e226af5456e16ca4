package servetree

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree/record"
)

// countClusters is in how many switch clusters the nodes of the world are at each
// depth [Subramoni 5.2], as a rank is told; empty where no network is known.
func (s *Server) countClusters() []byte {
	counts := make([]int, s.w.Depth)
	for d := range counts {
		seen := map[int]bool{}
		for node := range s.w.Hosts {
			seen[s.w.ClustersOf(job.NodeID(node))[d]] = true
		}
		counts[d] = len(seen)
	}
	return record.AppendClusters(nil, counts)
}

// cluster tells a rank the switch clusters of another, which the launcher has told
// every node: no other is asked.
func (s *Server) cluster(c *caller, r *record.Record) error {
	if r.Dst >= s.w.Size {
		return fmt.Errorf("it asks for the switch clusters of rank %d of %d", r.Dst, s.w.Size)
	}
	s.tell(c, &record.Record{Kind: record.Cluster, Seq: r.Seq, Body: record.AppendClusters(nil, s.w.ClustersOf(s.w.NodeOf(job.Rank(r.Dst))))})
	return nil
}

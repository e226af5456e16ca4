package client

import (
	"context"

	"github.com/golaunch/golaunch/tree/member"
)

// NetworkDepth returns the number of levels of switches of the network between the job's
// hosts (tii_get_network_depth [Subramoni 5.2]). At depth 1 all hosts are together, the
// last depth is that of leaf switches. It is 0 where golaunch was given no network
// (--topology).
func (c *Client) NetworkDepth() int { return c.session.NetworkDepth() }

// SwitchClusters is in how many switch clusters the world's hosts are at a depth
// (tii_num_switch_clusters_at_depth); 0 at one that the network lacks.
func (c *Client) SwitchClusters(depth int) int { return c.session.SwitchClusters(depth) }

// SwitchCluster returns the switch cluster at a depth of the host that a rank of the
// world is on (tii_connected_switch_cluster_at_depth): the same number, not negative,
// for all ranks below the same switches, in all worlds of the job, and so a color for
// Split. A host that the network lacks is alone. The node's own agent answers. It is an
// error where there is no such rank or depth.
func (c *Client) SwitchCluster(ctx context.Context, rank, depth int) (int, error) {
	r, err := c.call(ctx, "a switch cluster", func() *member.Request { return c.session.SwitchCluster(rank, depth) })
	if err != nil {
		return 0, err
	}
	return r.Cluster(), nil
}

// Package tii is the Topology Information Interface [Subramoni 5.2.1, 6.2.1, 8.2.2]:
// facts for programs, schedulers and libraries about the network of their hosts. Begin
// with network.go (Network, of all hosts) and job.go (Job, of the hosts of a job);
// query.go has the lines by which a service is asked for it.
//
//	tii_get_network_depth                 Network.Depth
//	tii_num_switch_clusters_at_depth      Job.Clusters
//	tii_connected_switch_cluster_at_depth Job.Cluster
//	tii_get_network_path_matrix           Job.Paths
//	tii_get_num_hosts_sharing_links       len(Job.SharingLinks)
//	tii_get_hosts_sharing_links           Job.SharingLinks
//	tii_get_avg_hosts_per_leaf_switch     Job.HostsPerLeaf
//
// Distances are hops: the switches on a route. Depths count from the top: depth 1
// is the whole network, the last depth that of leaf switches.
package tii

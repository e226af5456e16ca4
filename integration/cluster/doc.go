// Package cluster makes a test cluster on one machine: nodes n001, n002, …
// that golaunch cannot tell from real ones, the node "head" where golaunch
// runs, and "outside", which reaches head only. Command cluster is its command
// line.
//
// The model: [Up] makes the nodes and records them in a directory,
// DIR/state.json; [Open] finds them again from any process; [Cluster.Down]
// removes every trace. Each node runs OpenSSH's sshd. The key that opens the nodes lies
// on head and nowhere else; golaunch there needs DIR/hosts and DIR/ssh_config:
//
//	golaunch -f DIR/hosts --ssh-config DIR/ssh_config …
//
// With [Config.Slurm] the nodes are those of a Slurm: sbatch, salloc and srun work on
// all machines. With [Config.GridEngine] qsub, qrsh and qdel do. With
// [Config.SecondNetwork] nodes have two networks, with [Config.IPv6Only] no IPv4.
//
// Provider "netns" builds a node from Linux namespaces (network, UTS, PID,
// IPC, mount, cgroup). The network's bridges and all their ports live in a
// network namespace of the cluster's own, the fabric: nothing appears on the
// host, clusters cannot collide, no packet leaves, and when the last process
// is gone the kernel removes the rest. A node keeps the host's root file
// system, read and write, with its own /tmp, /run, /dev/shm, /var/log, /proc,
// /sys and account files. Provider "docker" runs the same nodes as containers.
//
// Not here: tests on the cluster (packages of integration), and anything that touches
// machines other than this one.
package cluster

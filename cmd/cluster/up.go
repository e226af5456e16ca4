package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/integration/cluster"
)

func setupUp(fs *pflag.FlagSet) func(env, []string) (int, error) {
	var c cluster.Config
	fs.StringVar(&c.Dir, "dir", cluster.DefaultDir(), "directory for the cluster's files")
	fs.StringVar(&c.Provider, "provider", cluster.Netns, "what a node is: netns (namespaces; root) or docker")
	switches := fs.String("switches", "", "leaf switches and nodes of each, `COUNTxHOSTS`; default is one switch for all")
	uplink := fs.String("uplink", "", "`RATE` between a leaf switch and the core, such as 1gbit")
	edge := fs.String("edge", "", "`RATE` between a node and its switch")
	fs.DurationVar(&c.Delay, "delay", 0, "delay of each packet a node sends, where the kernel has netem")
	fs.StringVar(&c.Kex, "kex", cluster.KexDefault, "SSH key exchange: default, curve25519, or openssh10: that version, and its default")
	fs.StringVar(&c.MaxStartups, "max-startups", "1000", "sshd's MaxStartups; 10:30:100 is its own default")
	fs.StringVar(&c.User, "user", cluster.Root, "`NAME` of the account that logs in and runs commands; any but root is an ordinary user")
	fs.BoolVar(&c.SecondNetwork, "second-network", false, "give each node a second interface, eth1, on a network of its own")
	fs.BoolVar(&c.IPv6Only, "ipv6-only", false, "machines have no IPv4 addresses, but for loopback's")
	fs.BoolVar(&c.Slurm, "slurm", false, "run Slurm: slurmctld on head, slurmd on the nodes; sbatch, salloc and srun work on all of them")
	fs.BoolVar(&c.GridEngine, "gridengine", false, "run Grid Engine: sge_qmaster on head, sge_execd on the nodes; qsub, qrsh and qdel work on all of them")
	fs.StringArrayVar(&c.Share, "share", nil, "a `PATH` below /tmp, /run or /dev/shm that the nodes see too (repeatable)")
	return func(e env, args []string) (int, error) {
		if len(args) != 1 {
			return 0, usagef("up wants the number of nodes")
		}
		var err error
		if c.Nodes, err = strconv.Atoi(args[0]); err != nil || c.Nodes < 1 || c.Nodes > cluster.MaxNodes {
			return 0, usagef("%q is not a number of nodes from 1 to %d", args[0], cluster.MaxNodes)
		}
		if *switches != "" {
			if c.Switches, err = cluster.ParseSwitches(*switches); err != nil {
				return 0, usageError{err}
			}
		}
		for _, r := range []struct {
			text string
			rate *cluster.Rate
		}{{*uplink, &c.Uplink}, {*edge, &c.Edge}} {
			if r.text == "" {
				continue
			}
			if *r.rate, err = cluster.ParseRate(r.text); err != nil {
				return 0, usageError{err}
			}
		}
		up, err := cluster.Up(e.ctx, c)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(e.stdout, "%d nodes are up: %s to %s\nhost file:  %s\nssh config: %s\n",
			c.Nodes, cluster.NodeName(1), cluster.NodeName(c.Nodes), up.HostFile(), up.SSHConfig())
		return exitOK, nil
	}
}

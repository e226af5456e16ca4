package cluster

import (
	"context"
	"fmt"
	"time"
)

// maxSlow bounds Slow: more than anybody waits for a connection.
const maxSlow = time.Hour

// Kill ends all processes of a node at once, sshd included, as a crash would.
// The kernel closes their connections; to have silence instead, Partition the node
// first. Revive makes the node usable again.
func (c *Cluster) Kill(name string) error {
	return c.do(name, c.provider.kill)
}

// Revive starts a killed node's sshd again. It does nothing to a node whose
// sshd runs.
func (c *Cluster) Revive(ctx context.Context, name string) error {
	return c.do(name, func(n *Node) error { return c.provider.revive(ctx, n) })
}

// Partition cuts a node from the network: packets to and from it are dropped
// without a word, and its address goes on resolving, so that its peers see
// silence and nothing else. Of head, both links are cut.
func (c *Cluster) Partition(name string) error {
	return c.do(name, func(n *Node) error { return c.provider.partition(n, true) })
}

// Heal undoes Partition.
func (c *Cluster) Heal(name string) error {
	return c.do(name, func(n *Node) error { return c.provider.partition(n, false) })
}

// Slow makes a node's sshd wait for a time on every new connection before it
// says anything; 0 undoes it. Connections already made are not touched.
func (c *Cluster) Slow(name string, delay time.Duration) error {
	if delay < 0 || delay > maxSlow {
		return fmt.Errorf("node %s: slow by %v: want 0 to %v", name, delay, maxSlow)
	}
	before := ""
	if delay > 0 {
		before = fmt.Sprintf("sleep %.3f\nexec", delay.Seconds())
	}
	return c.session(name, before)
}

// Ahead sets the clocks of a node's uptime, by which processes measure time, ahead by
// whole seconds for new connections, in a time namespace; 0 undoes it. The time of day
// stays that of the machine. Of Ahead and Slow the last one counts.
func (c *Cluster) Ahead(name string, offset time.Duration) error {
	if offset < 0 || offset%time.Second != 0 {
		return fmt.Errorf("node %s: ahead by %v: want whole seconds, from 0 on", name, offset)
	}
	before := ""
	if offset > 0 {
		seconds := int(offset.Seconds())
		before = fmt.Sprintf("exec unshare --time --monotonic %d --boottime %d", seconds, seconds)
	}
	return c.session(name, before)
}

func (c *Cluster) session(name, before string) error {
	return c.do(name, func(n *Node) error {
		if n.Name == Outside {
			return errNoSSHD
		}
		return c.provider.session(n, before)
	})
}

// Packets counts the packets a node received and sent since it was made.
func (c *Cluster) Packets(name string) (rx, tx uint64, err error) {
	err = c.do(name, func(n *Node) error {
		rx, tx, err = c.provider.packets(n)
		return err
	})
	return rx, tx, err
}

// Processes lists the processes of a node except its process 1, which is the
// cluster's; sshd and its sessions are among them. Processes in PID namespaces
// that were made on the node belong to it; zombies are left out.
func (c *Cluster) Processes(name string) (procs []Proc, err error) {
	err = c.do(name, func(n *Node) error {
		procs, err = c.provider.processes(n)
		return err
	})
	return procs, err
}

// do runs f on a machine and names it in the error.
func (c *Cluster) do(name string, f func(*Node) error) error {
	n, err := c.state.node(name)
	if err != nil {
		return err
	}
	if err := f(n); err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	return nil
}

package cluster

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// minBurst holds a few of the 64 kB packets that virtual Ethernet carries.
const minBurst = 256 << 10

// bucket returns the token bucket for tc-tbf(8) that lets rate through: the bytes of 10
// ms may go at once, and packets wait up to 50 ms.
func bucket(r Rate) string {
	burst := max(uint64(r)/8/100, minBurst)
	return fmt.Sprintf("tbf rate %v burst %d latency 50ms", r, burst)
}

// shape sets rates and delay: on the switches' side for packets to the nodes and over
// the uplinks, on the nodes' for packets from them.
func (p *netnsProvider) shape() error {
	c := &p.state.Config
	if cmds := fabricShaping(p.state); len(cmds) > 0 {
		if err := p.batch("tc", cmds); err != nil {
			return fmt.Errorf("shape links: %w", err)
		}
	}
	commands := nodeShaping(c)
	if len(commands) == 0 {
		return nil
	}
	tc, err := findTool("tc")
	if err != nil {
		return err
	}
	for i := range p.state.Nodes[:c.Nodes] {
		n := &p.state.Nodes[i]
		for _, args := range commands {
			if err := runIn(n.Init, unix.CLONE_NEWNET, exec.Command(tc, args...)); err != nil {
				if c.Delay > 0 {
					err = fmt.Errorf("%w (a delay needs the kernel's netem, CONFIG_NET_SCH_NETEM)", err)
				}
				return fmt.Errorf("shape link of %s: %w", n.Name, err)
			}
		}
	}
	return nil
}

// fabricShaping is the batch for tc(8) in the fabric.
func fabricShaping(s *state) []string {
	c := &s.Config
	var cmds []string
	add := func(port string, r Rate) {
		cmds = append(cmds, "qdisc replace dev "+port+" root "+bucket(r))
	}
	if c.Uplink > 0 {
		for _, b := range leaves(c) {
			leaf, core := b.uplink()
			add(leaf, c.Uplink)
			add(core, c.Uplink)
		}
	}
	if c.Edge > 0 {
		for i := range c.Nodes {
			add(s.Nodes[i].Name, c.Edge)
		}
	}
	return cmds
}

// nodeShaping are the argument lists for tc(8) on each node.
func nodeShaping(c *Config) [][]string {
	var list [][]string
	place := []string{"root"}
	if c.Delay > 0 {
		us := fmt.Sprintf("%dus", c.Delay/time.Microsecond)
		list = append(list, []string{"qdisc", "replace", "dev", "eth0", "root", "handle", "1:", "netem", "delay", us, "limit", "100000"})
		place = []string{"parent", "1:1", "handle", "10:"}
	}
	if c.Edge > 0 {
		args := append([]string{"qdisc", "replace", "dev", "eth0"}, place...)
		list = append(list, append(args, strings.Fields(bucket(c.Edge))...))
	}
	return list
}

package cluster

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nodes have a second network beside the first, which head is not on.
func TestSecondNetwork(t *testing.T) {
	c := newTestCluster(t, Config{Nodes: 2, SecondNetwork: true, Switches: Switches{2, 1}})
	n2, err := c.Node("n002")
	require.NoError(t, err)
	assert.Equal(t, "10.90.1.2", n2.SecondAddr.String())
	assert.Contains(t, output(t, c, "n001", "ip", "route", "get", n2.SecondAddr.String()), "dev eth1")
	sent := func() string { return output(t, c, "n001", "cat", "/sys/class/net/eth0/statistics/tx_packets") }
	before := sent()
	refusedAt(t, c, "n001", n2.SecondAddr)
	assert.Equal(t, before, sent())
	assert.Equal(t, "n002", output(t, c, Head, "ssh", "n002", "hostname"))
	assert.Contains(t, failure(t, c, Head, "ssh", "-o", "ConnectTimeout=1", n2.SecondAddr.String(), "true"), "unreachable")
}

// refusedAt sees to it that a node reaches sshd at an address; the key is on head alone.
func refusedAt(t *testing.T, c *Cluster, node string, at netip.Addr) {
	t.Helper()
	assert.Contains(t, failure(t, c, node, "ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", at.String(), "true"), "Permission denied")
}

// Names mean IPv6 addresses, and there are no others.
func TestIPv6Only(t *testing.T) {
	c := newTestCluster(t, Config{Nodes: 2, IPv6Only: true, SecondNetwork: true, Switches: Switches{2, 1}})
	assert.Equal(t, "127.0.0.1/8", output(t, c, "n001", "sh", "-c", "ip -4 -brief address | awk '{print $3}'"))
	n2, err := c.Node("n002")
	require.NoError(t, err)
	assert.Equal(t, "fd00::58:0:0:a58:102", n2.Addr.String())
	assert.Contains(t, output(t, c, "n001", "getent", "ahosts", "n002"), n2.Addr.String())
	assert.Equal(t, "n002", output(t, c, Head, "ssh", "n002", "hostname"))
	assert.Equal(t, "n002", output(t, c, Outside, "ssh", "-F", c.OutsideSSHConfig(), "n002", "hostname"))
	refusedAt(t, c, "n001", n2.SecondAddr)
}

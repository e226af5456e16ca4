package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseRate(t *testing.T) {
	for _, test := range []struct {
		text string
		want Rate
		err  bool
	}{
		{"1gbit", 1e9, false},
		{"2.5mbit", 2500000, false},
		{"100Mbit", 1e8, false},
		{"8000bit", 8000, false},
		{"1000gbit", 1e12, false},
		{"1001gbit", 0, true},
		{"7kbit", 0, true},
		{"100", 0, true},
		{"100mbps", 0, true},
		{"-1gbit", 0, true},
		{"1e3mbit", 0, true},
		{"", 0, true},
	} {
		got, err := ParseRate(test.text)
		if test.err {
			assert.ErrorContains(t, err, "rate", test.text)
			continue
		}
		require.NoError(t, err, test.text)
		assert.Equal(t, test.want, got, test.text)
	}
}

func TestRateReadsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rate(rapid.Uint64Range(8000, maxRate-1).Draw(t, "rate"))
		got, err := ParseRate(r.String())
		require.NoError(t, err)
		require.Equal(t, r, got)
	})
}

func TestParseSwitches(t *testing.T) {
	got, err := ParseSwitches("2x4")
	require.NoError(t, err)
	assert.Equal(t, Switches{2, 4}, got)
	assert.Equal(t, "2x4", got.String())
	for _, bad := range []string{"", "2", "2x", "x4", "0x4", "2x0", "-1x4", "2x4x2", "2x257", "axb"} {
		_, err := ParseSwitches(bad)
		assert.ErrorContains(t, err, "want COUNTxHOSTS", bad)
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		err    string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Dir = "" }, ""},
		{func(c *Config) { c.MaxStartups = "10:30:100" }, ""},
		{func(c *Config) { c.Switches = Switches{2, 4}; c.Uplink = 1e9 }, ""},
		{func(c *Config) { c.Nodes = 0 }, "want 1 to 256"},
		{func(c *Config) { c.Nodes = 257 }, "want 1 to 256"},
		{func(c *Config) { c.Dir = "/a b" }, "may hold only"},
		{func(c *Config) { c.Dir = "/a%b" }, "may hold only"},
		{func(c *Config) { c.Provider = "vm" }, "want netns or docker"},
		{func(c *Config) { c.Kex = "rsa" }, "key exchange"},
		{func(c *Config) { c.Kex = KexOpenSSH10 }, ""},
		{func(c *Config) { c.Provider = Docker; c.Kex = KexOpenSSH10 }, "the OpenSSH of its image"},
		{func(c *Config) { c.MaxStartups = "10\nUsePAM yes" }, "max startups"},
		{func(c *Config) { c.SessionEnv = []string{"A=b c", "D="} }, ""},
		{func(c *Config) { c.SessionEnv = []string{"A=b\nUsePAM yes"} }, "session environment"},
		{func(c *Config) { c.SessionEnv = []string{`A="`} }, "session environment"},
		{func(c *Config) { c.SessionEnv = []string{"A"} }, "session environment"},
		{func(c *Config) { c.Delay = -1 }, "delay"},
		{func(c *Config) { c.Switches = Switches{2, 3} }, "room for 6 nodes, not for 8"},
		{func(c *Config) { c.Switches = Switches{-2, -4} }, "at least one switch"},
		{func(c *Config) { c.Uplink = 1e9 }, "no uplink without switches"},
		{func(c *Config) { c.Provider = Docker; c.Edge = 1e9 }, "the netns provider's"},
		{func(c *Config) { c.Provider = Docker; c.Slurm = true }, "provider docker has no Slurm"},
		{func(c *Config) { c.SlurmCPUs = -1 }, "want a positive number"},
		{func(c *Config) { c.SlurmPatience = time.Second / 2 }, "whole seconds"},
		{func(c *Config) { c.Provider = Docker; c.GridEngine = true }, "provider docker has no Grid Engine"},
		{func(c *Config) { c.SecondNetwork, c.IPv6Only = true, true }, ""},
		{func(c *Config) { c.Provider = Docker; c.SecondNetwork = true }, "the netns provider's"},
		{func(c *Config) { c.Provider = Docker; c.IPv6Only = true }, "the netns provider's"},
		{func(c *Config) { c.Slurm, c.IPv6Only = true, true }, "has no Slurm"},
	} {
		c := Config{Dir: "/x", Nodes: 8}
		test.change(&c)
		err := c.validate()
		if test.err != "" {
			assert.ErrorContains(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		assert.NotEmpty(t, c.Dir)
		assert.NotEmpty(t, c.Provider)
		assert.NotEmpty(t, c.MaxStartups)
	}
}

// drawState makes any cluster that can be asked for.
func drawState(t *rapid.T) *state {
	c := Config{Dir: "/c", Nodes: rapid.IntRange(1, MaxNodes).Draw(t, "nodes")}
	if rapid.Bool().Draw(t, "switched") {
		c.Switches.Hosts = rapid.IntRange(1, c.Nodes).Draw(t, "hosts")
		c.Switches.Count = (c.Nodes + c.Switches.Hosts - 1) / c.Switches.Hosts
	}
	c.SecondNetwork = rapid.Bool().Draw(t, "second network")
	c.IPv6Only = rapid.Bool().Draw(t, "IPv6 only")
	require.NoError(t, c.validate())
	return &state{Config: c, Nodes: planNodes(c, netnsSubnets)}
}

// TestForwarding follows the bridges' tables from every bridge to every
// machine of its network.
func TestForwarding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		behind := make(map[string]bridge) // a port between bridges leads to this one
		for _, b := range leaves(&s.Config) {
			leaf, core := b.uplink()
			behind[leaf], behind[core] = coreBridge, b
		}
		seen := make(map[string]bool)
		for _, p := range s.ports() {
			require.False(t, seen[p.name] || seen[p.hw], "%s %s", p.name, p.hw)
			seen[p.name], seen[p.hw] = true, true
			require.LessOrEqual(t, len(p.name), 15)
			for _, b := range bridges(&s.Config) {
				if !p.reaches(b) {
					continue
				}
				hops := 0
				for at := b; p.from(at) != p.name; hops++ {
					next, ok := behind[p.from(at)]
					require.True(t, ok && hops < 2, "from %v to %s", b, p.name)
					at = next
				}
			}
		}
	})
}

func TestAddresses(t *testing.T) {
	s := &state{Config: Config{Nodes: MaxNodes}, Nodes: planNodes(Config{Nodes: MaxNodes}, netnsSubnets)}
	seen := make(map[string]bool)
	for _, p := range s.ports() {
		assert.NotContains(t, []byte{0, 255}, p.addr.As4()[3], "%s", p.name)
		assert.False(t, seen[p.addr.String()], p.name)
		seen[p.addr.String()] = true
	}
	n, err := s.node("n256")
	require.NoError(t, err)
	assert.Equal(t, "10.88.2.56", n.Addr.String())
	hosts := etcHosts(s.Nodes)
	assert.Equal(t, MaxNodes+2, strings.Count(hosts, "\n"))
	assert.NotContains(t, hosts, Outside)
	assert.NotContains(t, outsideHosts(s.Nodes), "n001")
}

func TestShapingCommands(t *testing.T) {
	c := Config{Dir: "/c", Nodes: 2, Switches: Switches{1, 2}, Uplink: 1e9, Edge: 1e8, Delay: 1500 * time.Microsecond}
	require.NoError(t, c.validate())
	s := &state{Config: c, Nodes: planNodes(c, netnsSubnets)}
	assert.Equal(t, []string{
		"qdisc replace dev up1 root tbf rate 1000000000bit burst 1250000 latency 50ms",
		"qdisc replace dev down1 root tbf rate 1000000000bit burst 1250000 latency 50ms",
		"qdisc replace dev n001 root tbf rate 100000000bit burst 262144 latency 50ms",
		"qdisc replace dev n002 root tbf rate 100000000bit burst 262144 latency 50ms",
	}, fabricShaping(s))
	var got []string
	for _, args := range nodeShaping(&c) {
		got = append(got, strings.Join(args, " "))
	}
	assert.Equal(t, []string{
		"qdisc replace dev eth0 root handle 1: netem delay 1500us limit 100000",
		"qdisc replace dev eth0 parent 1:1 handle 10: tbf rate 100000000bit burst 262144 latency 50ms",
	}, got)
	assert.Empty(t, nodeShaping(&Config{}))
}

// A time that cannot be set is an error, and undoes nothing.
func TestAheadIsWholeSeconds(t *testing.T) {
	for _, interval := range []time.Duration{-time.Second, 500 * time.Millisecond} {
		require.ErrorContains(t, new(Cluster).Ahead("n001", interval), "node n001: ahead by "+interval.String()+": want whole seconds")
	}
}

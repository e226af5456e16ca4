package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxNodes is the largest number of nodes of one cluster.
const MaxNodes = 256

// The providers.
const (
	Netns  = "netns"  // namespaces of this machine; needs root
	Docker = "docker" // containers; needs an engine
)

// Root is the account of Config.User that may do everything.
const Root = "root"

// The values of Config.Kex.
const (
	KexDefault    = "default"    // OpenSSH's own choice (sntrup761x25519 since 9.0)
	KexCurve25519 = "curve25519" // the cheaper exchange, for comparisons
	// KexOpenSSH10 has sshd and ssh be of OpenSSH 10, which scripts/openssh10.sh unpacks,
	// with its own choice: mlkem768x25519. For Netns alone.
	KexOpenSSH10 = "openssh10"
)

// Config describes the cluster to make. Only Nodes is required.
type Config struct {
	// Dir holds the cluster's files. It is made if it does not exist and may
	// hold nothing of another cluster. Default: DefaultDir().
	Dir string
	// Nodes is the number of nodes, 1 to MaxNodes, head and outside not counted.
	Nodes int
	// Provider is Netns (the default) or Docker.
	Provider string
	// Switches arranges the nodes, in order, behind leaf switches that a core
	// switch joins; head is at the core. The zero value is one switch for all.
	Switches Switches
	// Uplink bounds each link between a leaf switch and the core, Edge each
	// link of a node, per direction. Zero is unbounded.
	Uplink, Edge Rate
	// Delay is added to every packet a node sends. It needs the kernel's
	// netem; Up says so where it is missing.
	Delay time.Duration
	// Kex is the SSH key exchange of all connections: KexDefault, KexCurve25519 or
	// KexOpenSSH10.
	Kex string
	// MaxStartups is sshd's option of that name. Default: 1000, so that it
	// never refuses a connection.
	MaxStartups string
	// User is the account that logs in and runs commands: Root (the default),
	// or any other name for an ordinary user, who may write to no cgroup.
	User string
	// SessionEnv lists variables that sshd adds to the environment of sessions,
	// NAME=value.
	SessionEnv []string
	// Slurm has the nodes be those of a Slurm: slurmctld runs on head, slurmd on
	// the nodes, munged on both. For Netns alone.
	Slurm bool
	// SlurmCPUs is the number of CPUs of each node in Slurm's configuration. Default:
	// 16.
	SlurmCPUs int
	// SlurmPatience is the time for which Slurm's programs wait for an answer before
	// they give a node up (MessageTimeout), in whole seconds. Default: 5 s.
	SlurmPatience time.Duration
	// SlurmSilence is the silence of a node after which Slurm takes it for down
	// (SlurmdTimeout), in whole seconds. Default: for ever, as this machine may be
	// busy.
	SlurmSilence time.Duration
	// GridEngine has the nodes be those of a Grid Engine: sge_qmaster runs on head,
	// sge_execd on the nodes. For Netns alone.
	GridEngine bool
	// SecondNetwork gives each node, but not head, a second interface, eth1, on a network
	// of its own behind one switch. For Netns alone.
	SecondNetwork bool
	// IPv6Only has no machine's interfaces have an IPv4 address, but for loopback's, and
	// names mean IPv6 addresses. For Netns alone, without Slurm and Grid Engine.
	IPv6Only bool
	// Memory has each node's sshd, and what it starts, in a memory cgroup, which
	// BoundMemory makes short. For Netns alone.
	Memory bool
	// Share lists files and directories below /tmp, /run, /dev/shm or
	// /var/log that the nodes share with the host although they have their
	// own /tmp and so on. Dir needs no mention.
	Share []string
}

// Switches is the shape of the network: Count leaf switches with room for
// Hosts nodes each.
type Switches struct{ Count, Hosts int }

// ParseSwitches reads COUNTxHOSTS, such as 2x4.
func ParseSwitches(s string) (Switches, error) {
	count, hosts, ok := strings.Cut(s, "x")
	c, err1 := strconv.Atoi(count)
	h, err2 := strconv.Atoi(hosts)
	if !ok || err1 != nil || err2 != nil || c < 1 || h < 1 || c > MaxNodes || h > MaxNodes {
		return Switches{}, fmt.Errorf("switches %q: want COUNTxHOSTS, such as 2x4, with numbers from 1 to %d", s, MaxNodes)
	}
	return Switches{c, h}, nil
}

// String is the form that ParseSwitches reads.
func (s Switches) String() string { return fmt.Sprintf("%dx%d", s.Count, s.Hosts) }

// Rate is a bandwidth in bits per second; 0 is unbounded.
type Rate uint64

// maxRate is 1 Tbit/s, beyond which a token bucket means nothing here.
const maxRate = 1e12

var rateUnits = map[string]Rate{"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}

var ratePattern = regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,6})?)(bit|kbit|mbit|gbit)$`)

// ParseRate reads a number with one of tc(8)'s units bit, kbit, mbit and gbit,
// such as 1gbit or 2.5mbit.
func ParseRate(s string) (Rate, error) {
	m := ratePattern.FindStringSubmatch(strings.ToLower(s))
	if m == nil {
		return 0, fmt.Errorf("rate %q: want a number with a unit, such as 100mbit or 1gbit", s)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", s, err)
	}
	bits := n * float64(rateUnits[m[2]])
	if bits < 8000 || bits > maxRate {
		return 0, fmt.Errorf("rate %q: want at least 8kbit and at most 1000gbit", s)
	}
	return Rate(bits), nil
}

// String is tc's form of the rate.
func (r Rate) String() string { return strconv.FormatUint(uint64(r), 10) + "bit" }

var (
	maxStartupsPattern = regexp.MustCompile(`^[0-9]{1,6}(:[0-9]{1,3}:[0-9]{1,6})?$`)
	userPattern        = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)
	// sshd_config gives quotes and backslashes a meaning.
	envPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=[^"'\\\x00-\x1f]*$`)
	// Dir is named in ssh_config, sshd_config and passwd, which give the
	// other characters a meaning.
	dirPattern = regexp.MustCompile(`^/[A-Za-z0-9._/+@=,-]+$`)
)

// validate fills the defaults in and refuses what cannot be built.
func (c *Config) validate() error {
	if c.Dir == "" {
		c.Dir = DefaultDir()
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("directory %s: %w", c.Dir, err)
	}
	if !dirPattern.MatchString(dir) {
		return fmt.Errorf("directory %q: the name may hold only letters, digits and ._/+@=,-", dir)
	}
	c.Dir = dir
	c.Share = slices.Clone(c.Share) // the caller keeps its own
	for i, p := range c.Share {
		abs, err := filepath.Abs(p)
		if err != nil {
			return fmt.Errorf("shared path %s: %w", p, err)
		}
		c.Share[i] = abs
	}
	if c.Nodes < 1 || c.Nodes > MaxNodes {
		return fmt.Errorf("%d nodes: want 1 to %d", c.Nodes, MaxNodes)
	}
	if c.Provider == "" {
		c.Provider = Netns
	}
	if c.Provider != Netns && c.Provider != Docker {
		return fmt.Errorf("provider %q: want %s or %s", c.Provider, Netns, Docker)
	}
	if c.Kex == "" {
		c.Kex = KexDefault
	}
	if !slices.Contains([]string{KexDefault, KexCurve25519, KexOpenSSH10}, c.Kex) {
		return fmt.Errorf("key exchange %q: want %s, %s or %s", c.Kex, KexDefault, KexCurve25519, KexOpenSSH10)
	}
	if c.Kex == KexOpenSSH10 && c.Provider == Docker {
		return fmt.Errorf("key exchange %s: provider %s has the OpenSSH of its image", c.Kex, Docker)
	}
	for _, v := range c.SessionEnv {
		if !envPattern.MatchString(v) {
			return fmt.Errorf("session environment %q: want NAME=value, the value without quotes and backslashes", v)
		}
	}
	if c.User == "" {
		c.User = Root
	}
	if !userPattern.MatchString(c.User) {
		return fmt.Errorf("user %q: want a name of at most 32 small letters and digits", c.User)
	}
	if c.User != Root && c.Provider == Docker {
		return fmt.Errorf("user %q: provider %s has only root", c.User, Docker)
	}
	if c.MaxStartups == "" {
		c.MaxStartups = "1000"
	}
	if !maxStartupsPattern.MatchString(c.MaxStartups) {
		return fmt.Errorf("max startups %q: want sshd's form, such as 100 or 10:30:100", c.MaxStartups)
	}
	return cmp.Or(c.validateManagers(), c.validateNetwork())
}

// validateManagers is validate for managers of resources, and what they bound.
func (c *Config) validateManagers() error {
	if c.Slurm && c.Provider == Docker {
		return fmt.Errorf("provider %s has no Slurm", Docker)
	}
	if c.SlurmCPUs < 0 || c.SlurmPatience < 0 || c.SlurmPatience%time.Second != 0 || c.SlurmSilence < 0 || c.SlurmSilence%time.Second != 0 {
		return fmt.Errorf("%d CPUs, patience %v, silence %v: want a positive number and whole seconds for Slurm", c.SlurmCPUs, c.SlurmPatience, c.SlurmSilence)
	}
	c.SlurmCPUs, c.SlurmPatience = cmp.Or(c.SlurmCPUs, 16), cmp.Or(c.SlurmPatience, 5*time.Second)
	if c.GridEngine && c.Provider == Docker {
		return fmt.Errorf("provider %s has no Grid Engine", Docker)
	}
	if c.Memory && c.Provider == Docker {
		return fmt.Errorf("provider %s does not bound memory", Docker)
	}
	if c.IPv6Only && (c.Slurm || c.GridEngine) {
		return errors.New("a cluster of IPv6 only has no Slurm and no Grid Engine")
	}
	return nil
}

// validateNetwork is validate for networks.
func (c *Config) validateNetwork() error {
	if c.Delay < 0 || c.Delay > time.Minute {
		return fmt.Errorf("delay %v: want 0 to 1m", c.Delay)
	}
	s := c.Switches
	shaped := c.Uplink != 0 || c.Edge != 0 || c.Delay != 0
	switch {
	case c.Provider == Docker && (c.SecondNetwork || c.IPv6Only):
		return fmt.Errorf("provider %s: a second network, and one of IPv6 only, are the %s provider's", Docker, Netns)
	case c.Provider == Docker && (s != Switches{} || shaped):
		return fmt.Errorf("provider %s: switches, rates and delay are the %s provider's", Docker, Netns)
	case s == Switches{} && c.Uplink != 0:
		return fmt.Errorf("uplink rate %v: there is no uplink without switches", c.Uplink)
	case s != Switches{} && (s.Count < 1 || s.Hosts < 1):
		return fmt.Errorf("switches %v: want at least one switch of one host", s)
	case s != Switches{} && s.Count*s.Hosts < c.Nodes:
		return fmt.Errorf("switches %v: room for %d nodes, not for %d", s, s.Count*s.Hosts, c.Nodes)
	}
	return nil
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// bridge is a switch in the fabric, the namespace that holds them: a leaf from
// 1, one of the two that every cluster has, or that of the second network.
type bridge int

const (
	secondBridge bridge = -2 // of the second network
	extBridge    bridge = -1 // between head and outside
	coreBridge   bridge = 0  // joins the leaves, or has all nodes where there are none
)

// String is the name of the bridge's interface.
func (b bridge) String() string {
	switch b {
	case secondBridge:
		return "second"
	case extBridge:
		return "ext"
	case coreBridge:
		return "core"
	}
	return "sw" + strconv.Itoa(int(b))
}

// uplink names the two ends of a leaf's link to the core.
func (b bridge) uplink() (leaf, core string) {
	return fmt.Sprintf("up%d", b), fmt.Sprintf("down%d", b)
}

func leaves(c *Config) []bridge {
	list := make([]bridge, c.Switches.Count)
	for i := range list {
		list[i] = bridge(i + 1)
	}
	return list
}

func bridges(c *Config) []bridge {
	list := append(leaves(c), coreBridge, extBridge)
	if c.SecondNetwork {
		list = append(list, secondBridge)
	}
	return list
}

// port is a node's connection to a switch.
type port struct {
	name   string // in the fabric: the node's, for head's second one head-ext
	dev    string // on the node
	node   *Node
	bridge bridge
	addr   netip.Addr
	hw     string
	bits   int // of the network's prefix
}

// ports lists the connections of a machine: head has two.
func (n *Node) ports() []port {
	p := port{n.Name, "eth0", n, bridge(n.Switch), n.Addr, hwAddr(n.Addr), netBits}
	if n.Name == Outside {
		p.bridge, p.bits = extBridge, extBits
	}
	list := []port{p}
	if n.ExtAddr.IsValid() {
		list = append(list, port{Head + "-ext", "eth1", n, extBridge, n.ExtAddr, hwAddr(n.ExtAddr), extBits})
	}
	if n.SecondAddr.IsValid() {
		list = append(list, port{n.Name + "-2", "eth1", n, secondBridge, n.SecondAddr, hwAddr(n.SecondAddr), netBits})
	}
	return list
}

// reaches reports whether the port is on the same network as a bridge.
func (p port) reaches(b bridge) bool { return min(p.bridge, coreBridge) == min(b, coreBridge) }

// from is the port of bridge b behind which p is.
func (p port) from(b bridge) string {
	if b == p.bridge {
		return p.name
	}
	if b == coreBridge {
		_, core := p.bridge.uplink()
		return core
	}
	leaf, _ := b.uplink()
	return leaf
}

func (s *state) ports() []port {
	var list []port
	for i := range s.Nodes {
		list = append(list, s.Nodes[i].ports()...)
	}
	return list
}

// startFabric makes the namespace of the switches, held by a process that does
// nothing.
func (p *netnsProvider) startFabric(ctx context.Context) error {
	cmd := exec.Command("sh", "-c", "echo ready; exec sleep infinity >/dev/null 2>&1")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWPID}
	var err error
	p.state.Fabric, err = p.startKeeper(ctx, cmd, func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		return quietIPv6()
	})
	return err
}

// wire makes switches and cables. Every process 1 must be there.
func (p *netnsProvider) wire() error {
	if err := p.batch("ip", linkCommands(p.state)); err != nil {
		return err
	}
	if err := p.batch("bridge", forwardingCommands(p.state)); err != nil {
		return err
	}
	return p.shape()
}

// batch feeds commands to ip, bridge or tc, in the fabric.
func (p *netnsProvider) batch(tool string, commands []string) error {
	path, err := findTool(tool)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	return runIn(p.state.Fabric, unix.CLONE_NEWNET, cmd)
}

// linkCommands is the batch for ip(8) that makes bridges, cables and the table
// by which the bridges themselves answer ARP requests: nobody floods, and a
// node that was cut off still has an address, as it would behind a router.
func linkCommands(s *state) []string {
	c := &s.Config
	var cmds []string
	add := func(format string, a ...any) { cmds = append(cmds, fmt.Sprintf(format, a...)) }
	for _, b := range bridges(c) {
		add("link add name %v type bridge stp_state 0 forward_delay 0 mcast_snooping 0", b)
		add("link set dev %v up", b)
	}
	proxy := "on"
	if c.IPv6Only { // for ARP alone, and a port with it gets no other broadcast
		proxy = "off"
	}
	attach := func(port string, b bridge) {
		add("link set dev %s master %v", port, b)
		add("link set dev %s up", port)
		add("link set dev %s type bridge_slave proxy_arp %s learning off", port, proxy)
	}
	for _, b := range leaves(c) {
		leaf, core := b.uplink()
		add("link add name %s type veth peer name %s", leaf, core)
		attach(leaf, b)
		attach(core, coreBridge)
	}
	for _, p := range s.ports() {
		add("link add name %s type veth peer name %s address %s netns %d", p.name, p.dev, p.hw, p.node.Init.PID)
		attach(p.name, p.bridge)
	}
	for _, b := range bridges(c) {
		for _, p := range s.ports() {
			if p.reaches(b) && p.addr.Is4() {
				add("neigh replace %v lladdr %s nud permanent dev %v", p.addr, p.hw, b)
			}
		}
	}
	return cmds
}

// forwardingCommands is the batch for bridge(8) that tells each bridge behind
// which of its ports each machine is.
func forwardingCommands(s *state) []string {
	var cmds []string
	for _, b := range bridges(&s.Config) {
		for _, p := range s.ports() {
			if p.reaches(b) {
				cmds = append(cmds, fmt.Sprintf("fdb replace %s dev %s master static", p.hw, p.from(b)))
			}
		}
	}
	return cmds
}

// configureNetwork gives n its addresses and brings its interfaces up. It uses ioctl
// instead of two runs of ip(8) per node.
func (p *netnsProvider) configureNetwork(n *Node) error {
	return onThread(func() error {
		if err := enter(n.Init, unix.CLONE_NEWNET); err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("configure network: %w", err)
		}
		defer closeFD(fd)
		if err := interfaceUp(fd, "lo"); err != nil {
			return err
		}
		for _, port := range n.ports() {
			if port.addr.Is4() {
				err = setAddress(fd, port)
			} else {
				err = addAddress(port)
			}
			if err == nil {
				err = interfaceUp(fd, port.dev)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// addAddress gives an interface its IPv6 address, at once: nobody else has it.
func addAddress(p port) error {
	tool, err := findTool("ip")
	if err != nil {
		return err
	}
	address := netip.PrefixFrom(p.addr, ipv6Bits).String()
	if out, err := exec.Command(tool, "address", "add", address, "dev", p.dev, "nodad").CombinedOutput(); err != nil {
		return fmt.Errorf("interface %s: set address: %w%s", p.dev, err, quote(out))
	}
	return nil
}

func setAddress(fd int, p port) error {
	mask := ^uint32(0) << (32 - p.bits)
	netmask := [4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}
	for _, set := range []struct {
		request uint
		value   [4]byte
	}{{unix.SIOCSIFADDR, p.addr.As4()}, {unix.SIOCSIFNETMASK, netmask}} {
		req, err := unix.NewIfreq(p.dev)
		if err == nil {
			err = req.SetInet4Addr(set.value[:])
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, set.request, req)
		}
		if err != nil {
			return fmt.Errorf("interface %s: set address: %w", p.dev, err)
		}
	}
	return nil
}

func interfaceUp(fd int, dev string) error {
	req, err := unix.NewIfreq(dev)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req)
	}
	if err == nil {
		req.SetUint16(req.Uint16() | unix.IFF_UP)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	}
	if err != nil {
		return fmt.Errorf("interface %s: bring up: %w", dev, err)
	}
	return nil
}

// States of a bridge port (bridge(8), link set).
const (
	portDisabled   = 0
	portForwarding = 3
)

// partition implements provider: a disabled bridge port drops packets from and to it.
// (ip(8) cannot do it: its way of setting the state notifies the bridge of a change,
// which enables the port again.)
func (p *netnsProvider) partition(n *Node, cut bool) error {
	st := portForwarding
	if cut {
		st = portDisabled
	}
	var cmds []string
	for _, port := range n.ports() {
		cmds = append(cmds, fmt.Sprintf("link set dev %s state %d", port.name, st))
	}
	return p.batch("bridge", cmds)
}

// packets implements provider. It reads the counters of the node's ports in
// the fabric: the node receives the packets that a port sends.
func (p *netnsProvider) packets(n *Node) (rx, tx uint64, err error) {
	dev, err := fabricCounters(p.state)
	if err != nil {
		return 0, 0, err
	}
	for _, port := range n.ports() {
		c, err := interfaceCounters(dev, port.name)
		if err != nil {
			return 0, 0, err
		}
		rx += c.txPackets
		tx += c.rxPackets
	}
	return rx, tx, nil
}

// fabricCounters is /proc/net/dev of the switches (proc(5)).
func fabricCounters(s *state) (string, error) {
	if _, err := pidNamespaceOf(s.Fabric); err != nil {
		return "", err
	}
	b, err := os.ReadFile(procPath(s.Fabric.PID, "net/dev"))
	if err != nil {
		return "", fmt.Errorf("counters: %w", err)
	}
	return string(b), nil
}

// UplinkBytes counts the bytes that the leaf switches have sent to the core so far, of
// all protocols and with their headers: packets from one leaf to another count once.
// Without leaf switches (Config.Switches) it returns an error.
func (c *Cluster) UplinkBytes() (total uint64, err error) {
	if c.state.Config.Switches.Count == 0 {
		return 0, errors.New("the cluster has one switch for all, and no uplink")
	}
	dev, err := fabricCounters(c.state)
	if err != nil {
		return 0, err
	}
	for _, b := range leaves(&c.state.Config) {
		up, _ := b.uplink()
		count, err := interfaceCounters(dev, up)
		if err != nil {
			return 0, err
		}
		total += count.txBytes
	}
	return total, nil
}

// counters are one interface's in /proc/net/dev.
type counters struct{ rxBytes, rxPackets, txBytes, txPackets uint64 }

// interfaceCounters reads one interface's counters from /proc/net/dev (proc(5)).
func interfaceCounters(dev, name string) (c counters, err error) {
	for line := range strings.Lines(dev) {
		iface, rest, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(iface) != name {
			continue
		}
		f := strings.Fields(rest)
		if len(f) < 16 {
			return c, fmt.Errorf("counters of %s: %d fields, want 16", name, len(f))
		}
		for _, x := range []struct {
			field int
			count *uint64
		}{{0, &c.rxBytes}, {1, &c.rxPackets}, {8, &c.txBytes}, {9, &c.txPackets}} {
			if *x.count, err = strconv.ParseUint(f[x.field], 10, 64); err != nil {
				return c, fmt.Errorf("counters of %s: %w", name, err)
			}
		}
		return c, nil
	}
	return c, fmt.Errorf("counters: no interface %s", name)
}

// interfaceNames lists the interfaces in /proc/net/dev.
func interfaceNames(dev string) []string {
	var names []string
	for line := range strings.Lines(dev) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

package cluster

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// UplinkBytes is how many bytes the leaf switches have sent to the core so far, of all
// protocols and with their headers: what goes from one leaf to another counts once. It
// is an error without leaf switches (Config.Switches).
func (c *Cluster) UplinkBytes() (total uint64, err error) {
	if c.state.Config.Switches.Count == 0 {
		return 0, errors.New("uplink counters: the cluster has one switch for all")
	}
	if _, err := pidNamespaceOf(c.state.Fabric); err != nil {
		return 0, err
	}
	dev, err := os.ReadFile(procPath(c.state.Fabric.PID, "net/dev"))
	if err != nil {
		return 0, fmt.Errorf("uplink counters: %w", err)
	}
	for _, b := range leaves(&c.state.Config) {
		leaf, _ := b.uplink()
		sent, err := interfaceSent(string(dev), leaf)
		if err != nil {
			return 0, fmt.Errorf("uplink counters: %w", err)
		}
		total += sent
	}
	return total, nil
}

// interfaceSent reads how many bytes an interface has sent from /proc/net/dev (proc(5)).
func interfaceSent(dev, name string) (uint64, error) {
	for line := range strings.Lines(dev) {
		iface, rest, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(iface) != name {
			continue
		}
		f := strings.Fields(rest)
		if len(f) < 16 {
			return 0, fmt.Errorf("interface %s: %d fields, want 16", name, len(f))
		}
		sent, err := strconv.ParseUint(f[8], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("interface %s: %w", name, err)
		}
		return sent, nil
	}
	return 0, fmt.Errorf("no interface %s", name)
}

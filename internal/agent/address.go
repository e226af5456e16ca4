package agent

import (
	"net"

	"github.com/golaunch/golaunch/internal/bootstrap/registry"
)

// address is one at which other nodes reach this one: the one the parent used, or the local
// end of a route towards another host. Where none is known only the node itself knows one.
func (a *Agent) address() string {
	if a.hello.Addr != "" {
		return a.hello.Addr
	}
	for slot := range a.subtree.Children {
		if to := a.subtree.Host(slot).Addr; to != "" {
			// Connecting a UDP socket sends nothing; it only picks a route.
			if c, err := net.Dial("udp", net.JoinHostPort(to, "9")); err == nil {
				defer c.Close()
				return c.LocalAddr().(*net.UDPAddr).IP.String()
			}
		}
	}
	if !a.onOneMachine() {
		if ip := ownAddress(a.self.Addr); ip != "" {
			return ip
		}
	}
	return "127.0.0.1"
}

// onOneMachine tells whether all agents of the job run on this machine.
func (a *Agent) onOneMachine() bool {
	kind, _ := registry.Find(a.common.Bootstrap) // else no range was taken
	return kind.Here
}

// ownAddress is preferred if an interface of this node has it, else the first
// address, IPv4 before IPv6, that is good beyond this node; "" if there is
// none.
func ownAddress(preferred string) string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	best := ""
	for _, addr := range addrs {
		n, ok := addr.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		switch ip := n.IP.String(); {
		case ip == preferred:
			return ip
		case best == "" || n.IP.To4() != nil && net.ParseIP(best).To4() == nil:
			best = ip
		}
	}
	return best
}

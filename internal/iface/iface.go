// Package iface chooses the network interface of a node by which its ranks are to talk, and
// says so in the variables that MPI libraries and the like read. Pure.
package iface

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Interface is one of a node's.
type Interface struct {
	Name  string
	Up    bool
	Addrs []netip.Prefix // with the bits of their subnets
}

// Want is a user's wish: an interface by its name, or that with an address in a
// subnet.
type Want struct {
	text   string
	subnet netip.Prefix // not valid for a name
}

// maxName is the longest name of an interface, in bytes (Linux's IFNAMSIZ, less its NUL).
const maxName = 15

// Parse reads a name, such as eth1, or a subnet, such as 10.1.0.0/16 or fd00:1::/64.
func Parse(text string) (Want, error) {
	if strings.Contains(text, "/") {
		subnet, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return Want{}, fmt.Errorf("%q is not a subnet; want ADDRESS/BITS, as in 10.1.0.0/16 or fd00:1::/64", text)
		case subnet.Addr().Is6() && linkLocal(subnet.Addr()):
			return Want{}, fmt.Errorf("%q: IPv6's link-local addresses mean nothing on another host; name the interface", text)
		}
		return Want{text: text, subnet: subnet.Masked()}, nil
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return Want{}, fmt.Errorf("%q is one host's address; want an interface's name, or a subnet, as in %s/24", text, text)
	}
	named := text != "" && len(text) <= maxName && text != "." && text != ".." &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' || r == ',' })
	if !named {
		return Want{}, fmt.Errorf("%q is not an interface's name, as eth1, or a subnet, as 10.1.0.0/16", text)
	}
	return Want{text: text}, nil
}

// Choice is a node's interface, and its address that others are told.
type Choice struct {
	Name string
	Addr netip.Addr
	// Devices are the RDMA devices that the interface belongs to, each with its port,
	// as UCX calls them: mlx5_0:1. Choose leaves them to the libraries.
	Devices []string
}

// Choose finds the one that is wanted among a node's. The error says which there are.
func (w Want) Choose(all []Interface) (Choice, error) {
	why := "no interface has an address in it"
	for _, i := range all {
		if !w.subnet.IsValid() && i.Name != w.text {
			continue
		}
		addr, ok := w.addr(i)
		switch {
		case ok && i.Up:
			return Choice{Name: i.Name, Addr: addr}, nil
		case ok:
			why = fmt.Sprintf("interface %s is down", i.Name)
		case !w.subnet.IsValid():
			why = "that interface has no address that other hosts could use"
		}
	}
	if !w.subnet.IsValid() && !slices.ContainsFunc(all, func(i Interface) bool { return i.Name == w.text }) {
		why = "there is no such interface"
	}
	return Choice{}, errors.New(why + "; this host has " + list(all))
}

// addr returns the address that an interface is wanted for: the first that fits, of
// loopback's only where there is no other (hosts that run BGP have theirs on lo), IPv4
// before IPv6.
func (w Want) addr(i Interface) (best netip.Addr, ok bool) {
	for _, p := range i.Addrs {
		a := p.Addr().Unmap()
		switch {
		case a.Is6() && linkLocal(a), a.IsUnspecified():
		case w.subnet.IsValid() && (!w.subnet.Contains(a) || a.IsLoopback() && !w.subnet.Addr().IsLoopback()):
		case !ok, best.IsLoopback() && !a.IsLoopback(), best.IsLoopback() == a.IsLoopback() && best.Is6() && a.Is4():
			best, ok = a, true
		}
	}
	return best, ok
}

func linkLocal(a netip.Addr) bool { return a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() }

// mostListed bounds the interfaces that an error names.
const mostListed = 12

// list names interfaces with their addresses.
func list(all []Interface) string {
	var texts []string
	for _, i := range all[:min(len(all), mostListed)] {
		var about []string
		if !i.Up {
			about = append(about, "down")
		}
		for _, p := range i.Addrs {
			about = append(about, p.String())
		}
		if about == nil {
			about = []string{"no address"}
		}
		texts = append(texts, fmt.Sprintf("%s (%s)", i.Name, strings.Join(about, ", ")))
	}
	if more := len(all) - mostListed; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	if texts == nil {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// HostVariables returns the variables in which MPICH reads the address of a rank's
// node. Its ch3 does not start with an address and an interface: set reports whether
// the user has set a variable.
func HostVariables(addr string, set func(name string) bool) []string {
	list := []string{"PMI_HOSTNAME=" + addr}
	for _, prefix := range []string{"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"} {
		if set(prefix+"NEMESIS_TCP_NETWORK_IFACE") || set(prefix+"NETWORK_IFACE") {
			return list
		}
	}
	return append(list, "MPIR_CVAR_CH3_INTERFACE_HOSTNAME="+addr)
}

// Variables returns those that name the interface. Open MPI does not take included
// interfaces together with excluded ones: set is as for HostVariables.
func (c Choice) Variables(set func(name string) bool) []string {
	list := []string{
		"UCX_NET_DEVICES=" + strings.Join(append(slices.Clone(c.Devices), c.Name), ","),
		"FI_TCP_IFACE=" + c.Name,
		"NCCL_SOCKET_IFNAME==" + c.Name, // without a = of its own it is the beginning of names
		"GLOO_SOCKET_IFNAME=" + c.Name,
	}
	for _, of := range []string{"btl", "oob"} {
		if !set("OMPI_MCA_" + of + "_tcp_if_exclude") {
			list = append(list, "OMPI_MCA_"+of+"_tcp_if_include="+c.Name)
		}
	}
	return list
}

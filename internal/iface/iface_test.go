package iface

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// of makes interfaces of words: a name, "down" and addresses each, between commas.
func of(text string) (all []Interface) {
	for one := range strings.SplitSeq(text, ",") {
		words := strings.Fields(one)
		i := Interface{Name: words[0], Up: true}
		for _, w := range words[1:] {
			if w == "down" {
				i.Up = false
				continue
			}
			i.Addrs = append(i.Addrs, netip.MustParsePrefix(w))
		}
		all = append(all, i)
	}
	return all
}

func TestChoose(t *testing.T) {
	const two = "lo 127.0.0.1/8 ::1/128, eth0 fe80::1/64 10.0.0.7/24, ib0 fd00:1::7/64 192.168.3.7/16, eth2 down 10.2.0.7/16, eth3 fe80::2/64"
	for _, x := range []struct{ want, on, name, addr string }{
		{want: "eth0", on: two, name: "eth0", addr: "10.0.0.7"},
		{want: "ib0", on: two, name: "ib0", addr: "192.168.3.7"},
		{want: "lo", on: two, name: "lo", addr: "127.0.0.1"},
		{want: "lo", on: "lo 127.0.0.1/8 10.9.0.7/32 ::1/128", name: "lo", addr: "10.9.0.7"}, // as where hosts run BGP
		{want: "lo", on: "lo 127.0.0.1/8 ::1/128 fd00:9::7/128", name: "lo", addr: "fd00:9::7"},
		{want: "10.0.0.0/24", on: two, name: "eth0", addr: "10.0.0.7"},
		{want: "10.0.0.99/24", on: two, name: "eth0", addr: "10.0.0.7"}, // some host's address in it
		{want: "192.168.0.0/16", on: two, name: "ib0", addr: "192.168.3.7"},
		{want: "fd00:1::/64", on: two, name: "ib0", addr: "fd00:1::7"},
		{want: "0.0.0.0/0", on: two, name: "eth0", addr: "10.0.0.7"}, // loopback's only where it is meant
		{want: "127.0.0.0/8", on: two, name: "lo", addr: "127.0.0.1"},
		{want: "10.1.0.0/16", on: "a down 10.1.0.1/16, b 10.1.0.2/16", name: "b", addr: "10.1.0.2"},
		{want: "eth0", on: "eth0 fe80::1/64 fd00::5/64", name: "eth0", addr: "fd00::5"},
	} {
		w, err := Parse(x.want)
		require.NoError(t, err)
		c, err := w.Choose(of(x.on))
		require.NoError(t, err, x.want)
		require.Equal(t, [2]string{x.name, x.addr}, [2]string{c.Name, c.Addr.String()}, x.want)
	}
	for want, says := range map[string]string{
		"eth9":        "there is no such interface; this host has lo (127.0.0.1/8, ::1/128), eth0 (fe80::1/64, 10.0.0.7/24), ib0 (fd00:1::7/64, 192.168.3.7/16), eth2 (down, 10.2.0.7/16), eth3 (fe80::2/64)",
		"eth2":        "interface eth2 is down; this host has ",
		"eth3":        "that interface has no address that other hosts could use; this host has ",
		"10.2.0.0/16": "interface eth2 is down; this host has ",
		"10.3.0.0/16": "no interface has an address in it; this host has ",
		"fd00:2::/64": "no interface has an address in it; this host has ",
	} {
		w, err := Parse(want)
		require.NoError(t, err)
		_, err = w.Choose(of(two))
		require.ErrorContains(t, err, says, want)
	}
	w, err := Parse("eth0")
	require.NoError(t, err)
	_, err = w.Choose(nil)
	require.EqualError(t, err, "there is no such interface; this host has none")
	_, err = w.Choose(of(strings.TrimSuffix(strings.Repeat("veth,", 14), ",")))
	require.ErrorContains(t, err, "veth (no address), 2 more")
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                 "is not an interface's name",
		"a name":           "is not an interface's name",
		"eth0,eth1":        "is not an interface's name",
		"eth0:1":           "is not an interface's name",
		"sixteen-letters!": "is not an interface's name",
		"..":               "is not an interface's name",
		"10.0.0/24":        "is not a subnet",
		"10.0.0.0/33":      "is not a subnet",
		"eth0/24":          "is not a subnet",
		"fe80::/64":        "mean nothing on another host",
		"10.0.0.7":         "want an interface's name, or a subnet, as in 10.0.0.7/24",
		"fd00::7":          "is one host's address",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, says, "%q", text)
	}
}

func TestVariables(t *testing.T) {
	c := Choice{Name: "ib0", Addr: netip.MustParseAddr("10.0.0.1"), Devices: []string{"mlx5_0:1"}}
	require.Equal(t, []string{
		"UCX_NET_DEVICES=mlx5_0:1,ib0", "FI_TCP_IFACE=ib0", "NCCL_SOCKET_IFNAME==ib0", "GLOO_SOCKET_IFNAME=ib0",
		"OMPI_MCA_btl_tcp_if_include=ib0", "OMPI_MCA_oob_tcp_if_include=ib0",
	}, c.Variables(func(string) bool { return false }))
	require.Equal(t, []string{"PMI_HOSTNAME=10.0.0.1", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=10.0.0.1"},
		HostVariables("10.0.0.1", func(string) bool { return false }))
	require.Equal(t, []string{"PMI_HOSTNAME=10.0.0.1"},
		HostVariables("10.0.0.1", func(name string) bool { return name == "MPICH_NETWORK_IFACE" }))
	c.Devices = nil
	require.Equal(t, []string{
		"UCX_NET_DEVICES=ib0", "FI_TCP_IFACE=ib0", "NCCL_SOCKET_IFNAME==ib0", "GLOO_SOCKET_IFNAME=ib0", "OMPI_MCA_oob_tcp_if_include=ib0",
	}, c.Variables(func(name string) bool { return name == "OMPI_MCA_btl_tcp_if_exclude" }))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"eth0", "10.0.0.0/8", "fd00::/64", "::ffff:10.0.0.0/104", "fe80::1%eth0"} {
		f.Add(s)
	}
	all := of("lo 127.0.0.1/8 ::1/128, eth0 fe80::1/64 10.0.0.7/24")
	f.Fuzz(func(t *testing.T, s string) {
		w, err := Parse(s)
		if err != nil {
			return
		}
		if c, err := w.Choose(all); err == nil {
			require.True(t, c.Addr.IsValid())
		}
	})
}

package sshboot

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixedNames is a resolver of fixed answers.
type fixedNames map[string][]string

func (n fixedNames) LookupAddr(_ context.Context, addr string) ([]string, error) {
	return n[addr], nil
}

func (n fixedNames) LookupNetIP(_ context.Context, _, host string) (list []netip.Addr, err error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	for _, text := range n[host] {
		list = append(list, netip.MustParseAddr(text))
	}
	if list == nil {
		err = errors.New("no such host")
	}
	return list, err
}

// A key is the host's by another name only if known_hosts has that name for it, at the
// port, and it leads to the address.
func TestSameHost(t *testing.T) {
	key, other := newSigner(t, "ed25519").PublicKey(), newSigner(t, "ed25519").PublicKey()
	text := keyText(key)
	dns := fixedNames{
		"n1": {"10.0.0.9", "::ffff:10.0.0.1"}, "n1.cluster": {"10.0.0.1"}, "n2": {"10.0.0.2"}, "v6": {"fd00::1"},
		"10.0.0.1": {"N1.cluster."}, "10.0.0.3": {"n2."}, "fd00::1": {"v6"},
	}
	for name, x := range map[string]struct {
		known string
		addr  string
		port  int
		want  bool
	}{
		"its name":                            {known: "n1 " + text, addr: "10.0.0.1", port: 22, want: true},
		"one of several":                      {known: "gone,n2,n1 " + text, addr: "10.0.0.1", port: 22, want: true},
		"another's name":                      {known: "n2 " + text, addr: "10.0.0.1", port: 22},
		"a name that nobody knows":            {known: "gone " + text, addr: "10.0.0.1", port: 22},
		"another key of the name":             {known: "n1 " + keyText(other) + "\nn2 " + text, addr: "10.0.0.1", port: 22},
		"its address, by a name":              {known: "10.0.0.1 " + text, addr: "10.0.0.1", port: 22, want: true},
		"another address":                     {known: "10.0.0.2 " + text, addr: "10.0.0.1", port: 22},
		"IPv6":                                {known: "v6 " + text, addr: "fd00::1", port: 22, want: true},
		"another server of the host":          {known: "[n1]:2222 " + text, addr: "10.0.0.1", port: 22},
		"that server":                         {known: "[n1]:2222 " + text, addr: "10.0.0.1", port: 2222, want: true},
		"the usual server of the host":        {known: "n1 " + text, addr: "10.0.0.1", port: 2222},
		"a pattern":                           {known: "n* " + text, addr: "10.0.0.1", port: 22},
		"an authority's":                      {known: "@cert-authority n1 " + text, addr: "10.0.0.1", port: 22},
		"revoked":                             {known: "@revoked n1 " + text, addr: "10.0.0.1", port: 22},
		"hashed":                              {known: hashName("n1.cluster") + " " + text, addr: "10.0.0.1", port: 22, want: true},
		"hashed, without domain":              {known: hashName("n1") + " " + text, addr: "10.0.0.1", port: 22, want: true},
		"hashed, at the port":                 {known: hashName("[n1]:2222") + " " + text, addr: "10.0.0.1", port: 2222, want: true},
		"hashed, another's":                   {known: hashName("n2") + " " + text, addr: "10.0.0.1", port: 22},
		"hashed, an address that lies":        {known: hashName("n2") + " " + text, addr: "10.0.0.3", port: 22},
		"an address that nobody has resolved": {known: "n1 " + text, port: 22},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Config{known: map[string]*knownHosts{"/absent": nil, "/known": parseKnownHosts("/known", x.known+"\n")}}
			target := &Target{Name: "x", Addr: x.addr, Port: x.port}
			require.Equal(t, x.want, c.SameHost(t.Context(), key.Marshal(), target, dns))
			target.Jump = []Target{{Name: "gate"}}
			require.False(t, c.SameHost(t.Context(), key.Marshal(), target, dns), "addresses behind another host are not ours to look up")
		})
	}
}
